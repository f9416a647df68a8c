// v1model: the architecture of BMv2's simple_switch.
//
// Programs choose a variant by defining V1MODEL_VERSION before they include this file. From 20200408 on, the index
// of counters, meters and registers has a type of its own, and ports have the type PortId_t.

#ifndef _V1_MODEL_P4_
#define _V1_MODEL_P4_

#include "core.p4"

#ifndef V1MODEL_VERSION
#define V1MODEL_VERSION 20180101
#endif

match_kind {
    range,
    optional,   // an exact value, or anything
    selector    // an input to the hash of an action selector, not a part of the key
}

const bit<32> __v1model_version = V1MODEL_VERSION;

// A program that defines V1MODEL_PORT_ID_OF_PROGRAM declares PortId_t itself, before it includes this file: a type of
// another width, or of strings. Only this project's file has this macro.
#if V1MODEL_VERSION >= 20200408 && !defined(V1MODEL_PORT_ID_OF_PROGRAM)
typedef bit<9>  PortId_t;
#endif

// What the switch knows about a packet. The @alias names are those that simple_switch has for these fields.
@metadata @name("standard_metadata")
struct standard_metadata_t {
#if V1MODEL_VERSION >= 20200408
    PortId_t    ingress_port;
    PortId_t    egress_spec;
    PortId_t    egress_port;
#else
    bit<9>      ingress_port;
    bit<9>      egress_spec;
    bit<9>      egress_port;
#endif
    bit<32>     instance_type;
    bit<32>     packet_length;
    // Queueing: times in microseconds, depths in packets.
    @alias("queueing_metadata.enq_timestamp")
    bit<32> enq_timestamp;
    @alias("queueing_metadata.enq_qdepth")
    bit<19> enq_qdepth;
    @alias("queueing_metadata.deq_timedelta")
    bit<32> deq_timedelta;
    @alias("queueing_metadata.deq_qdepth")
    bit<19> deq_qdepth;
    // Microseconds since the switch started.
    @alias("intrinsic_metadata.ingress_global_timestamp")
    bit<48> ingress_global_timestamp;
    @alias("intrinsic_metadata.egress_global_timestamp")
    bit<48> egress_global_timestamp;
    @alias("intrinsic_metadata.mcast_grp")
    bit<16> mcast_grp;
    @alias("intrinsic_metadata.egress_rid")
    bit<16> egress_rid;
    // 1 if a `verify_checksum` failed.
    bit<1>  checksum_error;
    error parser_error;
    @alias("intrinsic_metadata.priority")
    bit<3> priority;
}

enum CounterType {
    packets,
    bytes,
    packets_and_bytes
}

enum MeterType {
    packets,
    bytes
}

// `size` counters, read by the control plane. An index out of range counts nowhere.
extern counter
#if V1MODEL_VERSION >= 20200408
<I>
#endif
{
    counter(bit<32> size, CounterType type);
#if V1MODEL_VERSION >= 20200408
    void count(in I index);
#else
    void count(in bit<32> index);
#endif
}

// A counter for each entry of the table that names it in its `counters` property; counts every hit by itself.
extern direct_counter {
    direct_counter(CounterType type);
    void count();
}

#define V1MODEL_METER_COLOR_GREEN  0
#define V1MODEL_METER_COLOR_YELLOW 1
#define V1MODEL_METER_COLOR_RED    2

// `size` two-rate three-colour meters (RFC 2698).
extern meter
#if V1MODEL_VERSION >= 20200408
<I>
#endif
{
    meter(bit<32> size, MeterType type);
#if V1MODEL_VERSION >= 20200408
    void execute_meter<T>(in I index, out T result);
#else
    void execute_meter<T>(in bit<32> index, out T result);
#endif
}

// A meter for each entry of the table that names it in its `meters` property.
extern direct_meter<T> {
    direct_meter(MeterType type);
    void read(out T result);
}

// `size` cells that packets read and write.
#if V1MODEL_VERSION >= 20200408
extern register<T, I>
#else
extern register<T>
#endif
{
    register(bit<32> size);
    @noSideEffects
#if V1MODEL_VERSION >= 20200408
    void read(out T result, in I index);
#else
    void read(out T result, in bit<32> index);
#endif
#if V1MODEL_VERSION >= 20200408
    void write(in I index, in T value);
#else
    void write(in bit<32> index, in T value);
#endif
}

// For the `implementation` property of tables whose entries name a member.
extern action_profile {
    action_profile(bit<32> size);
}

// A number from `lo` to `hi`, both included.
extern void random<T>(out T result, in T lo, in T hi);

// Sends `data` to the control plane. `receiver` is ignored.
extern void digest<T>(in bit<32> receiver, in T data);

enum HashAlgorithm {
    crc32,
    crc32_custom,
    crc16,
    crc16_custom,
    random,
    identity,
    csum16,
    xor16
}

@deprecated("Please use mark_to_drop(standard_metadata) instead.")
extern void mark_to_drop();

// Sets `egress_spec` to the port that drops, and `mcast_grp` to 0.
@pure
extern void mark_to_drop(inout standard_metadata_t standard_metadata);

// `base` plus the hash of `data` modulo `max`; `base` where `max` is 0.
@pure
extern void hash<O, T, D, M>(out O result, in HashAlgorithm algo, in T base, in D data, in M max);

// For the `implementation` property of tables whose entries name a member or a group.
extern action_selector {
    action_selector(HashAlgorithm algorithm, bit<32> size, bit<32> outputWidth);
}

enum CloneType {
    I2E,
    E2E
}

@deprecated("Please use verify_checksum/update_checksum instead.")
extern Checksum16 {
    Checksum16();
    bit<16> get<D>(in D data);
}

// Sets `checksum_error` if the condition holds and the checksum is wrong. Only in VerifyChecksum.
extern void verify_checksum<T, O>(in bool condition, in T data, in O checksum, HashAlgorithm algo);

// Sets the checksum if the condition holds. Only in ComputeChecksum.
@pure
extern void update_checksum<T, O>(in bool condition, in T data, inout O checksum, HashAlgorithm algo);

// The same, over `data` and all bytes that the parser did not take.
extern void verify_checksum_with_payload<T, O>(in bool condition, in T data, in O checksum, HashAlgorithm algo);
@noSideEffects
extern void update_checksum_with_payload<T, O>(in bool condition, in T data, inout O checksum, HashAlgorithm algo);

// After ingress: back to the parser, as the packet came. The fields that are kept are those in `data`, or those with
// @field_list of that index.
extern void resubmit<T>(in T data);
extern void resubmit_preserving_field_list(bit<8> index);

// After egress and the deparser: back to the parser.
extern void recirculate<T>(in T data);
extern void recirculate_preserving_field_list(bit<8> index);

// A copy to the ports of a mirroring session.
extern void clone(in CloneType type, in bit<32> session);
extern void clone3<T>(in CloneType type, in bit<32> session, in T data);
extern void clone_preserving_field_list(in CloneType type, in bit<32> session, bit<8> index);

// Cuts the packet to so many bytes when it leaves.
extern void truncate(in bit<32> length);

// Fails the packet's processing with a message unless the condition holds.
extern void assert(in bool check);
extern void assume(in bool check);

// Writes to the log; `{}` stands for the values in `data`.
extern void log_msg(string msg);
extern void log_msg<T>(string msg, in T data);

// M is a struct of metadata, H a struct of headers, stacks and unions.

parser Parser<H, M>(packet_in b,
                    out H parsedHdr,
                    inout M meta,
                    inout standard_metadata_t standard_metadata);

control VerifyChecksum<H, M>(inout H hdr,
                             inout M meta);

@pipeline
control Ingress<H, M>(inout H hdr,
                      inout M meta,
                      inout standard_metadata_t standard_metadata);

@pipeline
control Egress<H, M>(inout H hdr,
                     inout M meta,
                     inout standard_metadata_t standard_metadata);

control ComputeChecksum<H, M>(inout H hdr,
                              inout M meta);

@deparser
control Deparser<H>(packet_out b, in H hdr);

package V1Switch<H, M>(Parser<H, M> p,
                       VerifyChecksum<H, M> vr,
                       Ingress<H, M> ig,
                       Egress<H, M> eg,
                       ComputeChecksum<H, M> ck,
                       Deparser<H> dep
                       );

#endif  // _V1_MODEL_P4_
