// PNA 0.5, whose main blocks know a direction and have a control before them, with what p4c adds for the DPDK target
// and the functions of version 0.7 as far as they fit. This is also what p4c itself has as pna.p4.

#ifndef __PNA_P4__
#define __PNA_P4__

#ifndef __TARGET_DPDK__
#define __TARGET_DPDK__
#endif
#ifndef _PNA_0_5_
#define _PNA_0_5_
#endif

#include <core.p4>
#include "pna/common.p4"

enum ipsec_status {
    IPSEC_SUCCESS,
    IPSEC_ERROR
}

// Encrypts or decrypts the packet behind the deparser, as its security association says.
extern ipsec_accelerator {
    ipsec_accelerator();
    void set_sa_index<T>(in T sa_index);
    void set_ip_header_offset<T>(in T offset);
    void enable();
    void disable();
    // Whether the packet comes back from the accelerator.
    bool from_ipsec(out ipsec_status status);
}

enum PNA_Direction_t {
    NET_TO_HOST,
    HOST_TO_NET
}

enum PNA_PacketPath_t {
    FROM_NET_PORT,
    FROM_NET_LOOPEDBACK,
    FROM_NET_RECIRCULATED,
    FROM_HOST,
    FROM_HOST_LOOPEDBACK,
    FROM_HOST_RECIRCULATED
}

struct pna_pre_input_metadata_t {
    PortId_t                 input_port;
    ParserError_t            parser_error;
    PNA_Direction_t          direction;
    PassNumber_t             pass;
    bool                     loopedback;
}

struct pna_pre_output_metadata_t {
    bool                     decrypt;
    SecurityAssocId_t        said;
    bit<16>                  decrypt_start_offset;
}

struct pna_main_parser_input_metadata_t {
    PNA_Direction_t          direction;
    PassNumber_t             pass;
    bool                     loopedback;
    PortId_t                 input_port;
}

struct pna_main_input_metadata_t {
    PNA_Direction_t          direction;
    PassNumber_t             pass;
    bool                     loopedback;
    Timestamp_t              timestamp;
    ParserError_t            parser_error;
    ClassOfService_t         class_of_service;
    PortId_t                 input_port;
}

struct pna_main_output_metadata_t {
    ClassOfService_t         class_of_service; // 0 when the main control begins
}

extern void drop_packet();
extern void send_to_port(in PortId_t dest_port);

extern void mirror_packet(in MirrorSlotId_t mirror_slot_id,
                          in MirrorSessionId_t mirror_session_id);

extern void recirculate();

extern bool add_entry<T>(string action_name,
                         in T action_params,
                         in ExpireTimeProfileId_t expire_time_profile_id);

extern FlowId_t allocate_flow_id();

extern void set_entry_expire_time(
    in ExpireTimeProfileId_t expire_time_profile_id);

extern void set_entry_expire_time_if(
    in bool condition,
    in ExpireTimeProfileId_t expire_time_profile_id);

extern void restart_expire_timer();

// The first value for a packet from the network, the second for one from the host.
@pure
extern T SelectByDirection<T>(
    in PNA_Direction_t direction,
    in T n2h_value,
    in T h2n_value);

control PreControlT<PH, PM>(
    in    PH pre_hdr,
    inout PM pre_user_meta,
    in    pna_pre_input_metadata_t  istd,
    inout pna_pre_output_metadata_t ostd);

parser MainParserT<MH, MM>(
    packet_in pkt,
    out   MH main_hdr,
    inout MM main_user_meta,
    in    pna_main_parser_input_metadata_t istd);

control MainControlT<MH, MM>(
    inout MH main_hdr,
    inout MM main_user_meta,
    in    pna_main_input_metadata_t  istd,
    inout pna_main_output_metadata_t ostd);

control MainDeparserT<MH, MM>(
    packet_out pkt,
    in    MH main_hdr,
    in    MM main_user_meta,
    in    pna_main_output_metadata_t ostd);

package PNA_NIC<PH, PM, MH, MM>(
    MainParserT<MH, MM> main_parser,
    PreControlT<PH, PM> pre_control,
    MainControlT<MH, MM> main_control,
    MainDeparserT<MH, MM> main_deparser);

#endif  // __PNA_P4__
