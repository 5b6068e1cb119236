/* verb_table.c: the verbs. A new one is a row here, a function in verbs.h, a bit in flags.h for its
 * flags, and a manual page in CMakeLists.txt. */
#include "common/flags.h"
#include "verbs/verbs.h"

#include <string.h>

enum { OPERATIONS = GOPS_OF_CONV | GOPS_OF_DECONV | GOPS_OF_NORM };

/* clang-format off */
const gops_verb gops_verbs[] = {
    {"run", GOPS_IN_RUN, gops_verb_run, OPERATIONS, 0, 0, NULL,
     "run conv|deconv|norm --data=X.npy --filter=W.npy --output=Y.npy [flags]",
     "computes one operation on arrays in .npy files",
     "Reads the tensors, computes, and writes the output as a .npy file of the same type,\n"
     "or of --output-type.\n"
     "norm has --scale and --bias in place of --filter.",
     "groupops run conv --data=x.npy --filter=w.npy --pads-begin=1,1 --pads-end=1,1"
     " --output=y.npy\n"
     "groupops run norm --data=y.npy --scale=s.npy --bias=b.npy --num-groups=2 --epsilon=1e-5"
     " --output=z.npy"},
    {"plan", GOPS_IN_PLAN, gops_verb_plan, OPERATIONS, 0, 0, NULL,
     "plan conv|deconv|norm --data=SHAPE --filter=SHAPE [flags]",
     "shows the output's shape, the pads, and the algorithm with its reason",
     "Takes shapes in place of files, and executes nothing but what --algorithm=fastest measures.\n"
     "Shows besides the workspace, the bytes of the packed filter, and the number of\n"
     "multiplications and additions.",
     "groupops plan conv --data=1,12,224,224 --filter=4,1,3,5,5 --pads-begin=2,2 --pads-end=2,2\n"
     "groupops plan norm --data=1,320,64,64 --num-groups=32 --epsilon=1e-5 --json"},
    {"bench", GOPS_IN_BENCH, gops_verb_bench, OPERATIONS | GOPS_OF_SUITE, 0, 0, NULL,
     "bench conv|deconv|norm --data=SHAPE --filter=SHAPE [flags], or bench --suite=NAME [flags]",
     "times one layer, or the layers of a suite",
     "Takes shapes, and times the execution alone on random elements: the plan is made and the\n"
     "filter packed beforehand, and one execution goes before as a warm-up. Behind the table of\n"
     "a suite a terminal gets bars of the times, and while it runs its progress, with the time\n"
     "that is left.",
     "groupops bench conv --data=1,128,56,56 --filter=32,4,4,3,3 --pads-begin=1,1 --pads-end=1,1\n"
     "groupops bench --suite=smoke --reps=3 --seconds=0 --plot=smoke.svg"},
    {"compare", GOPS_IN_COMPARE, gops_verb_compare, 0, 2, 2, "two files: A.npy B.npy",
     "compare A.npy B.npy [--max-ulp=NUMBER] [--max-difference=NUMBER] [--type=TYPE]",
     "says where two tensors differ most",
     "Shows how many elements differ, and of the worst ones index, values and distance. Distances\n"
     "are counted in ulp, units in the last place: the elements of the type that one passes on\n"
     "the way from the one to the other, so that neighbours are 1 apart, and integers as far as\n"
     "their difference. The zeros of both signs are equal, and so is a NaN to a NaN; a NaN is\n"
     "beyond everything else.\n"
     "\n"
     "An element is allowed to be --max-ulp apart, or --max-difference. Where one is not, the\n"
     "exit status is 1; shapes and types that are not the same are refused.",
     "groupops compare y.npy y.npy\n"
     "groupops compare y.npy z.npy --max-ulp=4 --max-difference=10"},
    {"info", GOPS_IN_INFO, gops_verb_info, 0, 0, 0, NULL, "info",
     "shows version, BLAS, instruction sets, threads and caches",
     "The processor whose kernels the BLAS runs, the instruction sets that the library was built\n"
     "for and the one that it uses, and the names of the algorithms.",
     "groupops info"},
#if defined(GOPS_TOOL_DEMO)
    {"demo", GOPS_IN_DEMO, gops_verb_demo, 0, 0, 1, NULL,
     "demo [PICTURE.png] [--output=FILE.png] [--threads=N]",
     "takes a picture apart with the three operations and puts it together again",
     "GroupConvolution splits each colour into four subbands with an orthogonal wavelet filter\n"
     "bank, twice over; GroupConvolutionBackpropData joins them again with the same filter;\n"
     "GroupNormalization makes the subbands fit to look at. Shapes, times and the PSNR of the\n"
     "reconstruction are printed, and the pictures written as one contact sheet. A PSNR of 120 dB\n"
     "or less is an error.\n"
     "\n"
     "PICTURE.png is any PNG; left out, it is a zone plate, the test chart that holds every\n"
     "frequency in every direction.",
     "groupops demo --output=sheet.png"},
#endif
#if defined(GOPS_TOOL_IR)
    {"ir", GOPS_IN_IR, gops_verb_ir, 0, 1, 1, "the file of a model: MODEL.xml",
     "ir MODEL.xml [--input=NAME=X.npy]... [--output-dir=DIR] [flags]",
     "runs an OpenVINO IR made of these operations",
     "The IR has version 10 or 11 and its constants in MODEL.bin; or the file is a lone <layer>,\n"
     "as the specification prints it. Shows for each layer its id, name, type, output shape,\n"
     "algorithm and the time of its execution.",
     "groupops ir model.xml --input=data=x.npy --output-dir=out"},
#endif
    {0},
};
/* clang-format on */

const gops_verb *gops_verb_find(const char *name)
{
    for (const gops_verb *row = gops_verbs; row->name != NULL; row++) {
        if (strcmp(row->name, name) == 0) {
            return row;
        }
    }
    return NULL;
}
