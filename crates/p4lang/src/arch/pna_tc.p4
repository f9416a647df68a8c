// PNA as p4c has it for the Linux traffic control: annotations say what the control plane may do with an extern, and
// the main control and the deparser see the metadata of the socket buffer.

#ifndef _PNA_DEV_
#define _PNA_DEV_
#endif
#ifndef __TARGET_TC__
#define __TARGET_TC__
#endif
#include <pna.p4>
