#include <core.p4>
#include <psa.p4>
header E { bit<48> d; bit<48> s; bit<16> t; }
struct empty_t {}
struct hd { E e; }
struct md { bit<8> x; PSA_MeterColor_t color; }
struct dig { bit<48> a; PortId_t p; }
parser IP(packet_in p, out hd h, inout md m, in psa_ingress_parser_input_metadata_t i, in empty_t r, in empty_t c) {
  state start { p.extract(h.e); transition accept; } }
parser EP(packet_in p, out hd h, inout md m, in psa_egress_parser_input_metadata_t i, in empty_t n, in empty_t a, in empty_t b) {
  state start { p.extract(h.e); transition accept; } }
control I(inout hd h, inout md m, in psa_ingress_input_metadata_t i, inout psa_ingress_output_metadata_t o) {
  ActionProfile(64) ap;
  ActionSelector(PSA_HashAlgorithm_t.CRC32, 128, 16) asel;
  DirectCounter<bit<32>>(PSA_CounterType_t.PACKETS) dc;
  DirectMeter(PSA_MeterType_t.BYTES) dm;
  Counter<bit<64>, PortId_t>(512, PSA_CounterType_t.PACKETS_AND_BYTES) pc;
  Meter<bit<8>>(16, PSA_MeterType_t.PACKETS) mt;
  Register<bit<32>, bit<8>>(16, 7) reg;
  Hash<bit<16>>(PSA_HashAlgorithm_t.CRC16) hsh;
  Random<bit<8>>(0, 100) rnd;
  action fwd(PortId_t p) { send_to_port(o, p); dc.count(); m.color = dm.execute(); pc.count(p); }
  action mc(MulticastGroup_t g) { multicast(o, g); }
  table t { key = { h.e.d : exact; } actions = { fwd; mc; NoAction; } psa_direct_counter = dc; psa_direct_meter = dm; psa_idle_timeout = PSA_IdleTimeout_t.NOTIFY_CONTROL; size = 100; }
  table t2 { key = { h.e.s : lpm; h.e.d : selector; } actions = { mc; NoAction; } psa_implementation = asel; }
  table t3 { key = { h.e.s : exact; } actions = { mc; NoAction; } psa_implementation = ap; }
  apply {
    if (i.parser_error != error.NoError) { ingress_drop(o); }
    t.apply(); t2.apply(); t3.apply();
    m.x = rnd.read();
    reg.write(m.x, reg.read(m.x) + 1);
    m.color = mt.execute(m.x, m.color);
    h.e.t = hsh.get_hash({ h.e.d, h.e.s });
    h.e.t = hsh.get_hash(16w0, h.e.d, 16w100);
    o.class_of_service = (ClassOfService_t) 0;
  } }
control Eg(inout hd h, inout md m, in psa_egress_input_metadata_t i, inout psa_egress_output_metadata_t o) { apply { } }
control ID(packet_out p, out empty_t a, out empty_t b, out empty_t c, inout hd h, in md m, in psa_ingress_output_metadata_t o) {
  Digest<dig>() d;
  apply { d.pack({ h.e.s, o.egress_port }); p.emit(h); } }
control ED(packet_out p, out empty_t a, out empty_t b, inout hd h, in md m, in psa_egress_output_metadata_t o, in psa_egress_deparser_input_metadata_t x) {
  InternetChecksum() ck;
  apply { ck.clear(); ck.add({ h.e.t }); h.e.t = ck.get(); p.emit(h); } }
IngressPipeline(IP(), I(), ID()) ip;
EgressPipeline(EP(), Eg(), ED()) ep;
PSA_Switch(ip, PacketReplicationEngine(), ep, BufferingQueueingEngine()) main;
