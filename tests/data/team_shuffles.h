/* SPDX-License-Identifier: Apache-2.0 */
/* In front of kernels/common/team.kernel.h: what CUDA computes by shuffles, OpenCL computes,
 * too. */
#ifdef __OPENCL_VERSION__
#define TEAM_SHUFFLES 1
#endif
