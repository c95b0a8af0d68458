# SPDX-License-Identifier: MIT
"""Write a GGUF file of random weights, in the shapes of Qwen2-0.5B.

    random_model.py FILE LAYERS VOCABULARY

This needs the package gguf. The weights are the same each time.
"""

import sys

import gguf
import numpy

WIDTH, FORWARD, HEADS, KV_HEADS = 896, 4864, 14, 2
HEAD = WIDTH // HEADS
SEED = 39


class Model:
    """A file that is being written."""

    def __init__(self, path, layers, vocabulary):
        self._writer = gguf.GGUFWriter(path, "qwen2")
        self._random = numpy.random.default_rng(SEED)
        self._layers, self._vocabulary = layers, vocabulary

    def _settings(self):
        add = self._writer
        add.add_name("random weights")
        add.add_block_count(self._layers)
        add.add_context_length(4096)
        add.add_embedding_length(WIDTH)
        add.add_feed_forward_length(FORWARD)
        add.add_head_count(HEADS)
        add.add_head_count_kv(KV_HEADS)
        add.add_layer_norm_rms_eps(1e-6)
        add.add_rope_freq_base(1e6)
        add.add_file_type(gguf.LlamaFileType.MOSTLY_Q4_0)
        # The words of the vocabulary are never printed.
        add.add_tokenizer_model("gpt2")
        add.add_tokenizer_pre("qwen2")
        add.add_token_list([f"w{i}" for i in range(self._vocabulary)])
        add.add_token_types([gguf.TokenType.NORMAL] * self._vocabulary)
        add.add_token_merges(["w 0"])
        add.add_eos_token_id(0)

    def _vector(self, name, size, value=None):
        data = (numpy.full(size, value) if value is not None
                else self._random.normal(0, 0.02, size))
        self._writer.add_tensor(name, data.astype(numpy.float32))

    def _matrix(self, name, rows, columns):
        kind = gguf.GGMLQuantizationType.Q4_0
        data = self._random.normal(0, columns ** -0.5, (rows, columns))
        self._writer.add_tensor(
            name, gguf.quants.quantize(data.astype(numpy.float32), kind),
            raw_dtype=kind)

    def _layer(self, name):
        for part, rows, columns in (
                ("attn_q", WIDTH, WIDTH), ("attn_k", HEAD * KV_HEADS, WIDTH),
                ("attn_v", HEAD * KV_HEADS, WIDTH),
                ("attn_output", WIDTH, WIDTH), ("ffn_gate", FORWARD, WIDTH),
                ("ffn_up", FORWARD, WIDTH), ("ffn_down", WIDTH, FORWARD)):
            self._matrix(f"{name}.{part}.weight", rows, columns)
            if part in ("attn_q", "attn_k", "attn_v"):
                self._vector(f"{name}.{part}.bias", rows)
        for part in ("attn_norm", "ffn_norm"):
            self._vector(f"{name}.{part}.weight", WIDTH, 1.0)

    def write(self):
        """Write the whole file."""
        self._settings()
        self._matrix("token_embd.weight", self._vocabulary, WIDTH)
        for number in range(self._layers):
            self._layer(f"blk.{number}")
        self._vector("output_norm.weight", WIDTH, 1.0)
        self._writer.write_header_to_file()
        self._writer.write_kv_data_to_file()
        self._writer.write_tensors_to_file()
        self._writer.close()


def main():
    path, layers, vocabulary = sys.argv[1:]
    Model(path, int(layers), int(vocabulary)).write()


if __name__ == "__main__":
    main()
