/* absent.c: what stands for a peer that this build was made without. */
#include "contestant.h"

static void *prepare(const gops_peer_problem *problem, gops_peer_note *note)
{
    (void)problem;
    gops_peer_refuse(note, "not built: its header was not there (Debian package libdnnl-dev)");
    return 0;
}

const gops_contestant gops_contestant_onednn = {"onednn", prepare, 0, 0, 0};
const gops_contestant gops_contestant_onednn_layout = {"onednn-layout", prepare, 0, 0, 0};
const gops_contestant gops_contestant_onednn_plain = {"onednn-plain", prepare, 0, 0, 0};
