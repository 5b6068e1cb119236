/* contestants.c: who takes part, and what they all need. */
#include "contestant.h"

#include <stdarg.h>
#include <stdio.h>

const gops_contestant *const gops_contestants[] = {
    &gops_contestant_auto,          &gops_contestant_gemm,
    &gops_contestant_implicit,      &gops_contestant_direct,
    &gops_contestant_pointwise,     &gops_contestant_depthwise,
    &gops_contestant_subconv,       &gops_contestant_gemm_calls,
    &gops_contestant_copy,          &gops_contestant_onednn,
    &gops_contestant_onednn_layout, &gops_contestant_onednn_plain,
    &gops_contestant_onnxruntime,   &gops_contestant_onnxruntime_single,
    &gops_contestant_pytorch,       NULL,
};

const gops_contestant *const gops_quantized_contestants[] = {
    &gops_contestant_auto,
    &gops_contestant_i32,
    &gops_contestant_f32,
    &gops_contestant_onednn,
    &gops_contestant_onednn_layout,
    &gops_contestant_onnxruntime,
    &gops_contestant_onnxruntime_single,
    NULL,
};

gops_peer_places gops_places;

static void describe(gops_peer_note *note, const char *format, va_list arguments)
{
    vsnprintf(note->text, sizeof note->text, format, arguments);
    for (char *at = note->text; *at != '\0'; at++) {
        if (*at == ',' || *at == '"' || (unsigned char)*at < ' ') {
            *at = ';';
        }
    }
}

void gops_peer_describe(gops_peer_note *note, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    describe(note, format, arguments);
    va_end(arguments);
}

bool gops_peer_refuse(gops_peer_note *note, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    describe(note, format, arguments);
    va_end(arguments);
    return false;
}
