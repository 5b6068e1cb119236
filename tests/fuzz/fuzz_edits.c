/* fuzz_edits.c: replaces single numbers of a case by what the bytes say. */
#include "fuzz_case.h"

#include <string.h>

/* A number that an input may replace. */
typedef enum slot_kind { WIDE, NARROW, REAL, SIZE } slot_kind;

typedef struct slot {
    slot_kind kind;
    void *at;
} slot;

enum { MAX_SLOTS = 128 };

typedef struct slots {
    slot slot[MAX_SLOTS];
    unsigned count;
} slots;

static void add(slots *s, slot_kind kind, void *at)
{
    s->slot[s->count].kind = kind;
    s->slot[s->count++].at = at;
}

static void add_tensor(slots *s, gops_tensor *tensor)
{
    add(s, NARROW, &tensor->type);
    add(s, NARROW, &tensor->rank);
    for (int i = 0; i < GOPS_MAX_RANK; i++)
        add(s, WIDE, &tensor->dims[i]);
}

static void add_list(slots *s, gops_list *list)
{
    add(s, NARROW, &list->count);
    for (int i = 0; i < 3; i++)
        add(s, WIDE, &list->values[i]);
}

static void add_lists(slots *s, gops_problem *p)
{
    gops_deconv_attributes *d = &p->deconv;
    gops_conv_attributes *c = &p->conv;
    gops_list *conv[] = {&c->strides, &c->pads_begin, &c->pads_end, &c->dilations};
    gops_list *deconv[] = {&d->strides,   &d->pads_begin,     &d->pads_end,
                           &d->dilations, &d->output_padding, &d->output_shape};
    if (p->operation == GOPS_PROBLEM_CONV)
        for (int i = 0; i < 4; i++)
            add_list(s, conv[i]);
    else
        for (int i = 0; i < 6; i++)
            add_list(s, deconv[i]);
}

static void add_quantization(slots *s, gops_problem *p, gops_random_quantization *memory)
{
    gops_quantization *q = &p->quantization;
    void *const narrow[] = {&q->data_scale,
                            &q->data_zero_point,
                            &q->output_scale,
                            &q->output_zero_point,
                            &q->residual_scale,
                            &q->residual_zero_point,
                            &q->sum_scale,
                            &q->sum_zero_point,
                            &memory->filter_scales[0],
                            &memory->filter_scales[1]};
    void *const wide[] = {&q->filter_scales_count, &p->filter_zero_point_count,
                          &memory->filter_zero_points[0]};
    for (size_t i = 0; i < sizeof narrow / sizeof narrow[0]; i++)
        add(s, NARROW, narrow[i]);
    for (size_t i = 0; i < sizeof wide / sizeof wide[0]; i++)
        add(s, WIDE, wide[i]);
}

/* Every number of the case; which they are differs with the operation. */
static void find_slots(gops_fuzz_case *c, slots *s)
{
    gops_problem *p = &c->problem;
    s->count = 0;
    add_tensor(s, &p->data);
    add(s, SIZE, &c->options.size);
    add(s, NARROW, &c->options.threads);
    add(s, WIDE, &c->options.max_workspace);
    add(s, NARROW, &c->options.output_type);
    add(s, NARROW, &c->saturate);
    add(s, NARROW, &c->options.activation.kind);
    add(s, REAL, &c->options.activation.alpha);
    add(s, REAL, &c->options.activation.beta);
    if (p->operation == GOPS_PROBLEM_NORM) {
        add_tensor(s, &c->scale);
        add_tensor(s, &c->bias);
        add(s, WIDE, &p->norm.num_groups);
        add(s, REAL, &p->norm.epsilon);
        return;
    }
    add_tensor(s, &p->filter);
    add_lists(s, p);
    add(s, NARROW,
        p->operation == GOPS_PROBLEM_CONV ? (void *)&p->conv.auto_pad
                                          : (void *)&p->deconv.auto_pad);
    add(s, NARROW, &p->deconv.output_shape_rule);
    add(s, NARROW, &c->options.residual_type);
    add(s, NARROW, &c->options.accuracy);
    add_quantization(s, p, &c->memory);
}

static void replace(const slot *s, int64_t value)
{
    const int32_t narrow = (int32_t)(uint32_t)(uint64_t)value;
    const size_t size = (size_t)value;
    switch (s->kind) {
    case WIDE:
    case REAL: /* the bits of any double */
        memcpy(s->at, &value, sizeof value);
        break;
    case NARROW:
        memcpy(s->at, &narrow, sizeof narrow);
        break;
    case SIZE:
        memcpy(s->at, &size, sizeof size);
        break;
    }
}

void gops_fuzz_edit(gops_fuzz_bytes *bytes, gops_fuzz_case *c)
{
    enum { MAX_EDITS = 8, SMALL = 16, EDGE = 96 };
    slots s;
    find_slots(c, &s);
    for (c->edited = 0; bytes->left != 0 && c->edited < MAX_EDITS; c->edited++) {
        const unsigned index = gops_fuzz_byte(bytes);
        const unsigned how = gops_fuzz_byte(bytes);
        const int64_t value = how < SMALL  ? (int64_t)how
                              : how < EDGE ? gops_fuzz_edge(how - SMALL)
                                           : (int64_t)gops_fuzz_word(bytes);
        replace(&s.slot[index % s.count], value);
    }
}
