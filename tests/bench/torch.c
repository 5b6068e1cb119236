/* torch.c: PyTorch in a Python process of its own, which stays alive and is asked over two pipes;
 * torch_worker.py has the other end, and says what is sent. */
#include "contestant.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct {
    pid_t process; /* 0: not started */
    FILE *to;
    FILE *from;
    bool broken;
} worker;

/* PyTorch has room for one layer at a time in the worker. */
typedef struct torch {
    float *output;
    size_t elements;
} torch;

static void become_worker(const int to[2], const int from[2])
{
    dup2(to[0], STDIN_FILENO);
    dup2(from[1], STDOUT_FILENO);
    for (int i = 0; i < 2; i++) {
        close(to[i]);
        close(from[i]);
    }
    /* PyTorch makes a new output for every call. Left alone, the C library gives the memory of a
     * large one back to the system each time, and the page faults would count as PyTorch's. */
    setenv("MALLOC_MMAP_MAX_", "0", 1);
    setenv("MALLOC_TRIM_THRESHOLD_", "17179869184", 1);
    execlp(gops_places.python, gops_places.python, gops_places.torch_worker, (char *)NULL);
    _exit(127);
}

static bool start(gops_peer_note *note)
{
    int to[2];
    int from[2];
    if (pipe(to) != 0 || pipe(from) != 0 || (worker.process = fork()) < 0) {
        worker.process = 0;
        return gops_peer_refuse(note, "no process could be started");
    }
    if (worker.process == 0) {
        become_worker(to, from);
    }
    close(to[0]);
    close(from[1]);
    worker.to = fdopen(to[1], "wb");
    worker.from = fdopen(from[0], "rb");
    return worker.to != NULL && worker.from != NULL;
}

/* The worker's answer: "ok ..." or "no ...", a line of which the note takes the beginning. */
static bool answer(gops_peer_note *note)
{
    char line[sizeof note->text];
    fflush(worker.to);
    if (fgets(line, sizeof line, worker.from) == NULL) {
        worker.broken = true;
        return gops_peer_refuse(note, "the worker ended (Debian package python3-torch)");
    }
    for (int at = strchr(line, '\n') != NULL ? '\n' : 0; at != '\n' && at != EOF;) {
        at = fgetc(worker.from);
    }
    line[strcspn(line, "\n")] = '\0';
    gops_peer_describe(note, "%s", strlen(line) > 3 ? line + 3 : "");
    return strncmp(line, "ok", 2) == 0;
}

static void send_list(const char *name, const gops_list *list)
{
    fprintf(worker.to, ", \"%s\": [", name);
    for (int i = 0; i < list->count; i++) {
        fprintf(worker.to, "%s%" PRId64, i == 0 ? "" : ", ", list->values[i]);
    }
    fprintf(worker.to, "]");
}

static void send_dims(const char *name, const gops_tensor *tensor)
{
    fprintf(worker.to, ", \"%s\": [", name);
    for (int i = 0; i < tensor->rank; i++) {
        fprintf(worker.to, "%s%" PRId64, i == 0 ? "" : ", ", tensor->dims[i]);
    }
    fprintf(worker.to, "]");
}

static void send_values(const gops_tensor *tensor, const float *values)
{
    size_t count = 1;
    for (int i = 0; i < tensor->rank; i++) {
        count *= (size_t)tensor->dims[i];
    }
    fwrite(values, sizeof *values, count, worker.to);
}

static void send_layer(const gops_peer_problem *problem)
{
    fprintf(worker.to,
            "prepare {\"op\": \"%s\", \"threads\": %d, \"groups\": %" PRId64 ", \"epsilon\": %.17g",
            problem->operation->name, problem->threads, problem->groups, problem->settings.epsilon);
    send_list("strides", &problem->strides);
    send_list("dilations", &problem->dilations);
    send_list("pads_begin", &problem->pads_begin);
    send_list("pads_end", &problem->pads_end);
    send_list("output_padding", &problem->output_padding);
    fprintf(worker.to, ", \"inputs\": %d", problem->operation->inputs);
    for (int i = 0; i < problem->operation->inputs; i++) {
        char name[16];
        snprintf(name, sizeof name, "input%d", i);
        send_dims(name, &problem->inputs[i]);
    }
    fprintf(worker.to, "}\n");
    for (int i = 0; i < problem->operation->inputs; i++) {
        send_values(&problem->inputs[i], problem->values[i]);
    }
}

static void *prepare(const gops_peer_problem *problem, gops_peer_note *note)
{
    if (gops_places.python == NULL || gops_places.torch_worker == NULL || worker.broken) {
        gops_peer_refuse(note, "no Python with torch was given (Debian package python3-torch)");
        return NULL;
    }
    if (worker.process == 0 && (!start(note) || !answer(note))) {
        worker.broken = true;
        return NULL;
    }
    send_layer(problem);
    if (!answer(note)) {
        return NULL;
    }
    torch *self = calloc(1, sizeof *self);
    if (self == NULL || (self->output = gops_peer_floats(problem->output_elements)) == NULL) {
        free(self);
        gops_peer_refuse(note, "no memory");
        return NULL;
    }
    self->elements = problem->output_elements;
    return self;
}

static bool run(void *state, int reps, double *ms, gops_peer_note *note)
{
    (void)state;
    fprintf(worker.to, "run %d\n", reps);
    if (!answer(note)) {
        return false;
    }
    for (int i = 0; i < reps; i++) {
        int64_t nanoseconds;
        if (fread(&nanoseconds, sizeof nanoseconds, 1, worker.from) != 1) {
            return gops_peer_refuse(note, "the worker ended");
        }
        ms[i] = (double)nanoseconds * 1e-6;
    }
    return true;
}

static const void *output(void *state, int *depth)
{
    const torch *self = state;
    gops_peer_note note;
    *depth = 1;
    fprintf(worker.to, "output %zu\n", self->elements);
    if (!answer(&note) ||
        fread(self->output, sizeof(float), self->elements, worker.from) != self->elements) {
        return NULL;
    }
    return self->output;
}

static void destroy(void *state)
{
    torch *self = state;
    free(self->output);
    free(self);
}

void gops_torch_shut_down(void)
{
    if (worker.process != 0) {
        fclose(worker.to);
        fclose(worker.from);
        waitpid(worker.process, NULL, 0);
        worker.process = 0;
    }
}

const gops_contestant gops_contestant_pytorch = {"pytorch", prepare, run, output, destroy};
