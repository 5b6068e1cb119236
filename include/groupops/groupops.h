/**
 * @file
 * groupops: grouped convolution, its transposed form and group normalization for inference engines.
 *
 * Start here. An engine describes its tensors (tensor.h) and the operation's attributes
 * (attributes.h), makes a plan from them, packs its weights with the plan, and executes the plan on
 * its buffers (plan.h). It chooses what is fused into the store, and bounds threads and memory
 * (options.h). It can lend the library its own threads, memory and matrix product (host.h), and have
 * algorithms measured instead of estimated (choices.h). Convolutions of 8-bit integers have scales
 * and zero points (quantization.h). Calls that can fail say how (status.h). Structs that can grow
 * begin with their size (sized.h).
 *
 * The operations are those of the OpenVINO operation set: GroupConvolution-1,
 * GroupConvolutionBackpropData-1 and GroupNormalization-12. A plain convolution is one group; a
 * depthwise one has as many groups as channels.
 *
 * The library never prints, exits, or changes settings of OpenMP or of the BLAS. Of the process it
 * changes two: pthread_atfork handlers are registered when it is loaded (host.h), and where the
 * processor has AMX, the first call that looks for instruction sets asks Linux to permit the process
 * its registers, unless GROUPOPS_ISA names another set.
 */
#ifndef GROUPOPS_GROUPOPS_H
#define GROUPOPS_GROUPOPS_H

#include <groupops/attributes.h>
#include <groupops/choices.h>
#include <groupops/host.h>
#include <groupops/options.h>
#include <groupops/plan.h>
#include <groupops/quantization.h>
#include <groupops/sized.h>
#include <groupops/status.h>
#include <groupops/tensor.h>
#include <groupops/version.h>

#endif
