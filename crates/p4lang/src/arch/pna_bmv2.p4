// PNA as p4c has it for BMv2's pna_nic: after version 0.7, the deparser may write headers.

#ifndef _PNA_DEV_
#define _PNA_DEV_
#endif
#include <pna.p4>
