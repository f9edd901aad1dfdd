/* SPDX-License-Identifier: MIT */
/* onnx_foreign.c: what a file is that is no ONNX model, told by its first bytes. */
#include "onnx_fields.h"

#include <string.h>

typedef struct signature {
    size_t offset, n;
    const char *bytes;
    const char *what;
} signature;

static const signature signatures[] = {
    {0, 4,  "\x89PNG",                 "a PNG image"                                              },
    {0, 3,  "\xff\xd8\xff",            "a JPEG image"                                             },
    {0, 4,  "GIF8",                    "a GIF image"                                              },
    {0, 4,  "%PDF",                    "a PDF document"                                           },
    {0, 4,  "PK\3\4",                  "a ZIP archive (as PyTorch saves; use torch.onnx.export)"  },
    {0, 2,  "\x1f\x8b",                "compressed with gzip (unpack it first)"                   },
    {0, 3,  "BZh",                     "compressed with bzip2 (unpack it first)"                  },
    {0, 6,  "\3757zXZ\0",              "compressed with xz (unpack it first)"                     },
    {0, 4,  "\x28\xb5\x2f\xfd",        "compressed with zstd (unpack it first)"                   },
    {0, 8,  "\x89HDF\r\n\x1a\n",       "an HDF5 file (as Keras saves; use tf2onnx)"               },
    {0, 6,  "\x93NUMPY",               "a NumPy array"                                            },
    {0, 4,  "GGUF",                    "a GGUF file"                                              },
    {0, 4,  "\177ELF",                 "a program"                                                },
    {0, 2,  "\x80\x02",                "a Python pickle (as PyTorch saves; use torch.onnx.export)"},
    {0, 2,  "\x80\x04",                "a Python pickle (as PyTorch saves; use torch.onnx.export)"},
    {4, 4,  "TFL3",                    "a TensorFlow Lite model (use tf2onnx)"                    },
    {4, 4,  "ORTM",                    "a model in ONNX Runtime's own format"                     },
    {3, 7,  "\0\0\0\0\0{\"",           "a safetensors file, which holds weights without a network"},
    {0, 23, "version https://git-lfs",
     "a Git LFS pointer (run \"git lfs pull\" to fetch the model)"                                },
};

/* What the first bytes of a text file say; NULL if they are not text. */
static const char *text_kind(const uint8_t *data, size_t size)
{
    size_t n = size < 512 ? size : 512, first = 0;

    for (size_t i = 0; i < n; i++)
        if ((data[i] < 0x20 && (data[i] == '\0' || !strchr("\t\n\r\f", data[i]))) ||
            data[i] == 0x7f)
            return NULL;
    if (n >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0) /* byte order mark */
        first = 3;
    while (first < n && strchr(" \t\n\r\f", data[first]))
        first++;
    if (first < n && data[first] == '<')
        return "an HTML or XML file";
    if (first < n && (data[first] == '{' || data[first] == '['))
        return "a JSON file";
    return "a text file";
}

static const char *foreign_kind(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < sizeof signatures / sizeof *signatures; i++) {
        const signature *s = &signatures[i];

        if (size >= s->offset + s->n && memcmp(data + s->offset, s->bytes, s->n) == 0)
            return s->what;
    }
    return text_kind(data, size);
}

weft_status weft_onnx_explain(weft_status status, weft_wire w, const char *file)
{
    const char *what = foreign_kind(w.at, (size_t)(w.end - w.at));
    weft_wire_field f;

    if (what)
        return weft_fail(status, "%s: is %s, expected an ONNX model", file, what);
    if (weft_wire_more(&w) && weft_wire_next(&w, &f) != WEFT_OK)
        status = weft_fail_in(status, "not an ONNX model");
    return weft_fail_in(status, file);
}
