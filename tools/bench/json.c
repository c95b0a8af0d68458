// SPDX-License-Identifier: MIT
#include <inttypes.h>

#include "bench.h"

static void put_quoted(FILE *out, const char *text)
{
	putc('"', out);
	for (; *text; text++) {
		unsigned char c = *text;

		if (c == '"' || c == '\\')
			fprintf(out, "\\%c", c);
		else if (c < 0x20)
			fprintf(out, "\\u%04x", c);
		else
			putc(c, out);
	}
	putc('"', out);
}

static void put_key(struct bench_json *json, const char *key)
{
	if (!json->empty)
		fputs(", ", json->out);
	json->empty = false;
	put_quoted(json->out, key);
	fputs(": ", json->out);
}

void bench_json_open(struct bench_json *json, FILE *out)
{
	*json = (struct bench_json){ .out = out, .empty = true };
	putc('{', out);
}

void bench_json_string(struct bench_json *json, const char *key,
		       const char *value)
{
	put_key(json, key);
	put_quoted(json->out, value);
}

void bench_json_count(struct bench_json *json, const char *key, uint64_t value)
{
	put_key(json, key);
	fprintf(json->out, "%" PRIu64, value);
}

void bench_json_real(struct bench_json *json, const char *key, double value)
{
	put_key(json, key);
	fprintf(json->out, "%.9g", value);
}

void bench_json_bool(struct bench_json *json, const char *key, bool value)
{
	put_key(json, key);
	fputs(value ? "true" : "false", json->out);
}

void bench_json_begin(struct bench_json *json, const char *key)
{
	put_key(json, key);
	putc('{', json->out);
	json->empty = true;
}

void bench_json_end(struct bench_json *json)
{
	putc('}', json->out);
	json->empty = false;
}

void bench_json_pairs(struct bench_json *json, const char *key,
		      const uint64_t (*pairs)[2], size_t nr)
{
	put_key(json, key);
	putc('[', json->out);
	for (size_t i = 0; i < nr; i++)
		fprintf(json->out, "%s[%" PRIu64 ", %" PRIu64 "]",
			i ? ", " : "", pairs[i][0], pairs[i][1]);
	putc(']', json->out);
}

void bench_json_close(struct bench_json *json)
{
	fputs("}\n", json->out);
}
