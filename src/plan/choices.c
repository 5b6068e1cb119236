/* plan/choices.c: a sorted list of choices. */
#include "plan/choices.h"

#include "base/checked.h"
#include "base/error.h"
#include "base/host_default.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The index of the first choice whose key is not below this one. */
static int64_t place_of(const gops_choices *choices, const char *key)
{
    int64_t low = 0, high = choices->count;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (strcmp(choices->list[middle]->key, key) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool is_at(const gops_choices *choices, int64_t place, const char *key)
{
    return place < choices->count && strcmp(choices->list[place]->key, key) == 0;
}

const char *gops_choices_find(const gops_choices *choices, const char *key)
{
    const int64_t place = place_of(choices, key);
    return is_at(choices, place, key) ? choices->list[place]->name : NULL;
}

/* Makes room for `more` choices. */
static gops_status reserve(gops_choices *choices, int64_t more, gops_error *error)
{
    enum { MIN_ROOM = 16 };
    const gops_host *host = &choices->host;
    if (choices->count + more <= choices->room) {
        return GOPS_OK;
    }
    const int64_t room = gops_max(choices->count + more, gops_max(2 * choices->room, MIN_ROOM));
    gops_choice **list = host->allocate(host->context, (size_t)room * sizeof(gops_choice *),
                                        GOPS_WORKSPACE_ALIGNMENT);
    if (list == NULL) {
        return gops_fail(error, GOPS_OUT_OF_MEMORY, "no memory for %lld choices", (long long)room);
    }
    if (choices->list != NULL) {
        memcpy(list, choices->list, (size_t)choices->count * sizeof(gops_choice *));
        host->release(host->context, choices->list);
    }
    choices->list = list;
    choices->room = room;
    return GOPS_OK;
}

/* There is room for one more. */
static void insert(gops_choices *choices, gops_choice *choice)
{
    const int64_t place = place_of(choices, choice->key);
    if (is_at(choices, place, choice->key)) {
        choices->host.release(choices->host.context, choices->list[place]);
    } else {
        memmove(&choices->list[place + 1], &choices->list[place],
                (size_t)(choices->count - place) * sizeof(gops_choice *));
        choices->count++;
    }
    choices->list[place] = choice;
}

gops_status gops_choices_put(gops_choices *choices, const char *key, const char *name,
                             gops_error *error)
{
    const size_t key_bytes = strlen(key) + 1, name_bytes = strlen(name) + 1;
    GOPS_TRY(reserve(choices, 1, error));
    gops_choice *choice = choices->host.allocate(
        choices->host.context, sizeof *choice + key_bytes + name_bytes, GOPS_WORKSPACE_ALIGNMENT);
    if (choice == NULL) {
        return gops_fail(error, GOPS_OUT_OF_MEMORY, "no memory for a choice");
    }
    memcpy(choice->key, key, key_bytes);
    choice->name = memcpy(choice->key + key_bytes, name, name_bytes);
    insert(choices, choice);
    return GOPS_OK;
}

gops_status gops_choices_move(gops_choices *from, gops_choices *to, gops_error *error)
{
    GOPS_TRY(reserve(to, from->count, error));
    for (int64_t i = 0; i < from->count; i++) {
        insert(to, from->list[i]);
    }
    from->count = 0;
    return GOPS_OK;
}

void gops_choices_clear(gops_choices *choices)
{
    const gops_host *host = &choices->host;
    for (int64_t i = 0; i < choices->count; i++) {
        host->release(host->context, choices->list[i]);
    }
    if (choices->list != NULL) {
        host->release(host->context, choices->list);
    }
    choices->list = NULL;
    choices->count = choices->room = 0;
}

gops_status gops_choices_create(const gops_host *host, gops_choices **choices, gops_error *error)
{
    gops_host complete;
    gops_gemm unused;
    if (choices == NULL) {
        return gops_fail(error, GOPS_INVALID, "choices is NULL");
    }
    *choices = NULL;
    GOPS_TRY(gops_host_complete(host, &complete, &unused, error));
    *choices = complete.allocate(complete.context, sizeof **choices, GOPS_WORKSPACE_ALIGNMENT);
    if (*choices == NULL) {
        return gops_fail(error, GOPS_OUT_OF_MEMORY, "no memory for the choices");
    }
    **choices = (gops_choices){complete, NULL, 0, 0};
    return GOPS_OK;
}

void gops_choices_destroy(gops_choices *choices)
{
    if (choices != NULL) {
        const gops_host host = choices->host;
        gops_choices_clear(choices);
        host.release(host.context, choices);
    }
}

int64_t gops_choices_count(const gops_choices *choices)
{
    return choices != NULL ? choices->count : 0;
}

const char *const gops_operation_names[] = {
    [GOPS_OPERATION_CONV] = "conv",
    [GOPS_OPERATION_DECONV] = "deconv",
    [GOPS_OPERATION_NORM] = "norm",
};

/* A line that is being written. */
typedef struct line {
    char *text;
    size_t length;
} line;

__attribute__((format(printf, 2, 3))) static void append(line *to, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    to->length += (size_t)vsnprintf(to->text + to->length, GOPS_CHOICE_KEY_BYTES - to->length,
                                    format, arguments);
    va_end(arguments);
}

/* One number of each axis, the member at `offset` bytes of gops_axis; `begin` stands before the
 * first, commas before the others. */
static void append_axes(line *to, const char *begin, const gops_conv_geometry *conv, size_t offset)
{
    for (int i = 0; i < conv->axes; i++) {
        int64_t value;
        memcpy(&value, (const char *)&conv->axis[i] + offset, sizeof value);
        append(to, "%s%lld", i == 0 ? begin : ",", (long long)value);
    }
}

static void append_conv(line *to, const gops_plan *plan)
{
    const gops_conv_geometry *conv = &plan->conv;
    const bool transposed = plan->operation == GOPS_OPERATION_DECONV;
    const long long in = conv->channels_in, out = conv->channels_out, groups = conv->groups;
    append(to, " data=%lld,%lld", (long long)conv->batch, groups * in);
    append_axes(to, ",", conv, offsetof(gops_axis, data));
    append(to, " filter=%lld,%lld,%lld", groups, transposed ? in : out, transposed ? out : in);
    append_axes(to, ",", conv, offsetof(gops_axis, kernel));
    append_axes(to, " strides=", conv, offsetof(gops_axis, stride));
    append_axes(to, " dilations=", conv, offsetof(gops_axis, dilation));
    append_axes(to, " pads-begin=", conv, offsetof(gops_axis, pad_begin));
    append_axes(to, " output=", conv, offsetof(gops_axis, output));
}

void gops_choice_key(const gops_plan *plan, const gops_request *wanted,
                     char key[GOPS_CHOICE_KEY_BYTES])
{
    const gops_norm_geometry *norm = &plan->norm;
    line to = {key, 0};
    append(&to, "%s", gops_operation_names[plan->operation]);
    if (plan->operation == GOPS_OPERATION_NORM) {
        append(&to, " data=%lld,%lld,%lld num-groups=%lld", (long long)norm->batch,
               (long long)(norm->groups * norm->channels), (long long)norm->pixels,
               (long long)norm->groups);
    } else {
        append_conv(&to, plan);
    }
    append(&to, " types=%s,%s,%s", gops_type_name(plan->type->type),
           gops_type_name(plan->filter_type->type), gops_type_name(plan->output_type->type));
    if (plan->quantized) {
        append(&to, " quantized residual=%s", gops_type_name(plan->residual_type->type));
    }
    if (plan->relaxed) {
        append(&to, " accuracy=relaxed");
    }
    if (wanted->divisible) {
        append(&to, " divisible");
    }
    if (gops_has_channel_gaps(plan)) {
        append(&to, " channel-strides=%lld,%lld", (long long)plan->data_plane,
               (long long)plan->output_plane);
    }
    append(&to, " isa=%s threads=%d workspace=%lld gemm=%s", plan->kernels->isa,
           (int)wanted->threads, (long long)wanted->max_workspace,
           plan->gemm.sgemm == gops_cblas.sgemm ? "blas" : "host");
}
