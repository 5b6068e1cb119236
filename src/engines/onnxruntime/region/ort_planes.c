/* ort_planes.c: finds which values have gaps. */
#include "engines/onnxruntime/region/ort_planes.h"

#include "base/machine.h"

#include <string.h>

int64_t gops_ort_plane(const gops_tensor *tensor)
{
    enum { GAP = 64 }; /* bytes */
    const int64_t pixels = gops_ort_elements(tensor, 2);
    const int64_t bytes = (int64_t)gops_type_bytes(tensor->type);
    const gops_machine machine = gops_machine_read();
    const bool conflicts = tensor->type == GOPS_F32 &&
                           gops_machine_planes_conflict(&machine, pixels, bytes, tensor->dims[1]);
    return conflicts ? pixels + GAP / bytes : pixels;
}

static gops_ort_member *writer_of(const gops_ort_members *members, const char *name)
{
    for (size_t i = 0; i < members->count; i++) {
        if (strcmp(members->items[i]->claim.output, name) == 0) {
            return members->items[i];
        }
    }
    return NULL;
}

/* Whether input k and the output are one tensor in memory, or parts of one, or a plan takes them to be alike. */
static bool is_alike(const gops_ort_member *member, size_t k)
{
    return member->kind == GOPS_ORT_CONCAT || member->kind == GOPS_ORT_SLICE ||
           (gops_ort_has_plan(member) && k == 1);
}

static bool close_gaps(gops_ort_member *member)
{
    const int64_t pixels = gops_ort_elements(&member->output, 2);
    const bool has = member->plane != pixels;
    member->plane = pixels;
    return has;
}

/* Has the member, and what it reads, agree. Returns whether anything changed. */
static bool agree(const gops_ort_members *members, gops_ort_member *member)
{
    bool changed = false;
    for (size_t k = 0; k < member->input_count; k++) {
        gops_ort_member *writer = writer_of(members, member->inputs[k]);
        const bool is_copied = writer == NULL && member->kind == GOPS_ORT_CONCAT;
        if (writer != NULL && k == 0 && !gops_ort_same_shape(&writer->output, &member->data)) {
            changed |= close_gaps(writer);
        }
        if (is_alike(member, k) && !is_copied &&
            (writer == NULL || writer->plane != member->plane)) {
            changed |= close_gaps(member);
            changed |= writer != NULL && close_gaps(writer);
        }
    }
    return changed;
}

void gops_ort_find_planes(const gops_ort_members *members, const gops_ort_interface *interface)
{
    for (size_t i = 0; i < members->count; i++) {
        members->items[i]->plane = gops_ort_plane(&members->items[i]->output);
    }
    for (size_t i = 0; i < interface->output_count; i++) {
        gops_ort_member *writer = writer_of(members, interface->outputs[i]);
        if (writer != NULL) {
            close_gaps(writer);
        }
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < members->count; i++) {
            changed |= agree(members, members->items[i]);
        }
    }
}
