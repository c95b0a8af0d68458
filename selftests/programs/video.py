# SPDX-License-Identifier: GPL-2.0-only
"""x264 and ffmpeg: encoders with a pool of threads that wait in turn."""

import os

import inputs
from program import Program

LIMIT = 240


class X264(Program):
    """Frame threads; the output does not depend on their timing."""
    name = "x264"
    packages = commands = ("x264",)
    quick = True

    def prepare(self, folder):
        self._input = os.path.join(folder, "input.y4m")
        inputs.film(self._input, 320, 192, 40)

    def run(self, place):
        results = place.run(
            ["x264", "--no-progress", "--threads", "6", "--preset",
             "veryfast", "--output", "film.264", self._input], LIMIT)
        results["film"] = place.read("film.264")
        results.pop("output: errors")       # tells how fast it was
        return results


class Ffmpeg(Program):
    """Decodes and encodes with frame and slice threads; sums of frames."""
    name = "ffmpeg"
    packages = commands = ("ffmpeg",)

    SOURCE = "testsrc2=size=640x352:rate=25:duration=4"

    def run(self, place):
        base = ["ffmpeg", "-nostdin", "-v", "error", "-threads", "4",
                "-filter_threads", "4"]
        exact = ["-fflags", "+bitexact", "-flags:v", "+bitexact"]
        results = {}
        for codec, options in (("ffv1", ["-level", "3", "-slices", "12"]),
                               ("mpeg4", ["-g", "12"])):
            results.update(place.run(
                [*base, "-f", "lavfi", "-i", self.SOURCE, "-threads", "4",
                 "-vf", "unsharp,hqdn3d", "-c:v", codec, *options, *exact,
                 "-f", "nut", f"{codec}.nut"], LIMIT, output=codec))
            results[f"{codec} film"] = place.read(f"{codec}.nut")
            results.update(place.run(
                [*base, "-i", f"{codec}.nut", *exact, "-f", "framemd5", "-"],
                LIMIT, output=f"{codec} frames"))
            place.forget(f"{codec}.nut")
        return results


PROGRAMS = (X264(), Ffmpeg())
