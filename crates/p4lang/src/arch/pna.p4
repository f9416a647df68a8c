// PNA, the Portable NIC Architecture, version 0.7; with _PNA_DEV_ as it is now, after that version.

#if defined(__TARGET_DPDK__) || defined(_PNA_0_5_)
#include "dpdk/pna.p4"
#endif

#ifndef __PNA_P4__
#define __PNA_P4__

#include <core.p4>

#include "pna/common.p4"

enum PNA_Source_t {
    FROM_HOST,
    FROM_NET
}

// The port is one of the network or one of the host.
struct pna_main_parser_input_metadata_t {
    bool                     recirculated;
    PortId_t                 input_port;
}

extern bool is_host_port (in PortId_t p);
extern bool is_net_port (in PortId_t p);

struct pna_main_input_metadata_t {
    bool                     recirculated;
    Timestamp_t              timestamp;
    ParserError_t            parser_error;
    ClassOfService_t         class_of_service;
    PortId_t                 input_port;
}

struct pna_main_output_metadata_t {
    ClassOfService_t         class_of_service; // 0 when the main control begins
}

// Where the packet goes: the last call counts. Only in the main control.
extern void drop_packet();
extern void send_to_port(in PortId_t dest_port);

extern void mirror_packet(in MirrorSlotId_t mirror_slot_id,
                          in MirrorSessionId_t mirror_session_id);

typedef bit<1> AddEntryErrorStatus_t;

const AddEntryErrorStatus_t ADD_ENTRY_SUCCESS = 0;
const AddEntryErrorStatus_t ADD_ENTRY_NOT_DONE = 1;

// Adds an entry with the key that just missed. Only in the default action of a table with `add_on_miss = true`;
// `action_name` is one of its actions, and the fields of T are that action's parameters, by name, type and order.
extern AddEntryErrorStatus_t add_entry<T>(
    string action_name,
    in T action_params,
    in ExpireTimeProfileId_t expire_time_profile_id);

// The same if the condition holds; ADD_ENTRY_NOT_DONE otherwise.
extern AddEntryErrorStatus_t add_entry_if<T>(
    in bool do_add_entry,
    string action_name,
    in T action_params,
    in ExpireTimeProfileId_t expire_time_profile_id);

extern FlowId_t allocate_flow_id();

// In actions of tables whose entries expire: another profile for the entry that was hit, and its timer restarted.
extern void set_entry_expire_time(
    in ExpireTimeProfileId_t expire_time_profile_id);

// The timer of the entry that was hit starts anew. A hit alone does not do that.
extern void restart_expire_timer();

// If `update_aging_info`: `set_entry_expire_time` if `update_expire_time`, `restart_expire_timer` otherwise.
extern void update_expire_info(
    in bool update_aging_info,
    in bool update_expire_time,
    in ExpireTimeProfileId_t expire_time_profile_id);

// `set_entry_expire_time` if the condition holds.
extern void set_entry_expire_time_if(
    in bool condition,
    in ExpireTimeProfileId_t expire_time_profile_id);

// The first value for a packet from the network, the second for one from the host.
@pure
extern T SelectByDirection<T>(
    in bool is_network_port,
    in T from_net_value,
    in T from_host_value);

parser MainParserT<MH, MM>(
    packet_in pkt,
    out   MH main_hdr,
    inout MM main_user_meta,
    in    pna_main_parser_input_metadata_t istd);

control MainControlT<MH, MM>(
    inout MH main_hdr,
    inout MM main_user_meta,
    in    pna_main_input_metadata_t  istd,
    inout pna_main_output_metadata_t ostd
#ifdef __TARGET_TC__
    // Programs from before p4tc had it leave it out.
    , @optional tc_skb_metadata skb_meta
#endif
    );

control MainDeparserT<MH, MM>(
    packet_out pkt,
#ifdef _PNA_DEV_
    inout MH main_hdr,
#else
    in    MH main_hdr,
#endif
    in    MM main_user_meta,
    in    pna_main_output_metadata_t ostd
#ifdef __TARGET_TC__
    , @optional tc_skb_metadata skb_meta
#endif
    );

package PNA_NIC<MH, MM>(
    MainParserT<MH, MM> main_parser,
    MainControlT<MH, MM> main_control,
    MainDeparserT<MH, MM> main_deparser);

#endif  // __PNA_P4__
