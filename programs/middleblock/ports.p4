// The type of ports, on which the file of the architecture depends.

#ifndef PORT_WIDTH
#define PORT_WIDTH 9
#endif

#define V1MODEL_VERSION 20200408
#if PORT_WIDTH == 9
#include <v1model.p4>
@p4runtime_translation("", string)
type bit<9> port_id_t;
#else
// The program declares the type that v1model gives to ingress_port, egress_spec and egress_port.
#define V1MODEL_PORT_ID_OF_PROGRAM
@p4runtime_translation("", string)
type bit<PORT_WIDTH> PortId_t;
typedef PortId_t port_id_t;
#include <v1model.p4>
#endif

// The port that stands for the controllers.
const bit<PORT_WIDTH> CONTROLLER_PORT = 255;
