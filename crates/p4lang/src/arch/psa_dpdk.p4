// PSA as p4c has it for the DPDK target: counters and meters may be told the packet's length.

#ifndef __TARGET_DPDK__
#define __TARGET_DPDK__
#endif
#include <psa.p4>
