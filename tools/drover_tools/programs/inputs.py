# SPDX-License-Identifier: MIT
"""Makes the input of the programs, which is the same every time."""

import random


def text(path, size):
    """Write words and numbers, which compress to about a quarter."""
    numbers = random.Random(1)
    words = ["".join(numbers.choices("etaoinshrdlu", k=numbers.randint(1, 9)))
             for _ in range(3000)]
    written = 0
    with open(path, "wb") as file:
        while written < size:
            line = " ".join(numbers.choices(words, k=2000))
            written += file.write(f"{line} {numbers.random()}\n".encode())


def film(path, width, height, frames):
    """Write a moving pattern with noise, as YUV4MPEG2."""
    noise = random.Random(1).randbytes(width * height + frames)
    ramp = bytes(i & 255 for i in range(width + 4 * frames + height))
    with open(path, "wb") as file:
        file.write(b"YUV4MPEG2 W%d H%d F25:1 Ip A1:1 C420jpeg\n"
                   % (width, height))
        for frame in range(frames):
            file.write(b"FRAME\n")
            for line in range(height):
                start = 4 * frame + line
                if line % 4:
                    file.write(ramp[start:start + width])
                else:
                    start = line * width + frame
                    file.write(noise[start:start + width])
            file.write(ramp[frame:frame + width // 2] * (height // 2))
            file.write(ramp[3 * frame:3 * frame + width // 2]
                       * (height // 2))
