import com.google.protobuf.Any;
import com.google.protobuf.ByteString;
import com.google.protobuf.DynamicMessage;
import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCalls;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * What ONOS 2.5 says to a switch, in its order: java Onos HOST:PORT DESCRIPTORS P4INFO PROGRAM
 *
 * <p>The program is pipelines/reactive.p4. Ports 1 and 2 are the ends of one cable; at 3 and 4 is a
 * host each. It prints "forwarding" when it waits for their first packets, "rules" when these have
 * got rules, then waits until the test makes the file PROGRAM.pinged and goes on to groups, meters,
 * another election and the end. What is not as ONOS needs it ends it with an error.
 */
public class Onos extends Client {
  static final String COOKIE = "0xc34a1bef3219e4f4";
  static final int LLDP = 0x88cc, BDDP = 0x8942, ARP = 0x0806, IPV4 = 0x0800;
  static final int[] HOST_PORTS = {3, 4};
  /** ONOS's priorities are one less. */
  static final int REACTIVE = 11;
  static final Map<String, Integer> IDS = new HashMap<>();
  static ManagedChannel channel;
  /** The low half of the election id; the high one is 0. */
  static long election;

  public static void main(String[] arguments) throws Exception {
    address(arguments[0]);
    load(Files.readAllBytes(Path.of(arguments[1])));
    String p4info = Files.readString(Path.of(arguments[2]));
    learnIds(p4info);
    Path program = Path.of(arguments[3]);
    channel = dial(8 << 10);

    Stream stream = new Stream();
    stream.becomePrimary(20);
    stream.becomePrimary(40);
    for (int time = 0; time < 2; time++) {
      expect(failure(channel, method("GetForwardingPipelineConfig"), CallOptions.DEFAULT, cookieOnly()),
          Status.Code.FAILED_PRECONDITION);
    }
    push(p4info, Files.readAllBytes(program));
    expectCookie();
    readAllThatIsThere();
    System.out.println("connected");

    discover(stream);
    System.out.println("forwarding");
    stream.awaitRules();
    System.out.println("rules");
    while (!Files.exists(Path.of(program + ".pinged"))) {
      Thread.sleep(20);
    }
    rulesCounted();
    groups();
    replication();
    meters();
    portCounters();
    expectCookie();
    stream.becomePrimary(60);
    secondInstance(stream);
    clear();
    System.out.println("done");
    System.exit(0);
  }

  static DynamicMessage cookieOnly() {
    return builder("GetForwardingPipelineConfigRequest", "device_id: 1 response_type: COOKIE_ONLY").build();
  }

  static void push(String p4info, byte[] program) {
    DynamicMessage.Builder push = builder("SetForwardingPipelineConfigRequest",
        "device_id: 1 " + electionId() + " action: VERIFY_AND_COMMIT"
        + " config { p4info {" + p4info + "} cookie { cookie: " + COOKIE + " } }");
    DynamicMessage.Builder config = ((DynamicMessage) field(push.build(), "config")).toBuilder();
    set(config, "p4_device_config", ByteString.copyFrom(program));
    set(push, "config", config.build());
    call(channel, "SetForwardingPipelineConfig", push.build());
  }

  static void expectCookie() {
    DynamicMessage answer = call(channel, "GetForwardingPipelineConfig", cookieOnly());
    DynamicMessage config = (DynamicMessage) field(answer, "config");
    Object cookie = field((DynamicMessage) field(config, "cookie"), "cookie");
    expect(cookie.equals(Long.parseUnsignedLong(COOKIE.substring(2), 16)), "cookie " + cookie);
    expect(!config.hasField(config.getDescriptorForType().findFieldByName("p4info")), "only the cookie");
  }

  /** What is read of a switch that has just got its pipeline. */
  static void readAllThatIsThere() {
    for (String table : List.of("table0", "host_meter_table")) {
      List<DynamicMessage> defaults = read(entry(table, "is_default_action: true"));
      expect(defaults.size() == 1, table + " has the default entries " + defaults);
    }
    for (String table : List.of("table0", "host_meter_table", "wcmp_table")) {
      expectNothing(entry(table, ""));
      expectNothing(entry(table, "counter_data { }"));
    }
    expectNothing("action_profile_member { action_profile_id: " + id("wcmp_selector") + " }");
    expectNothing("action_profile_group { action_profile_id: " + id("wcmp_selector") + " }");
    expectNothing("direct_meter_entry { " + entry("host_meter_table", "") + " }");
    expectNothing("direct_counter_entry { " + entry("table0", "") + " }");
    expectNothing("packet_replication_engine_entry { multicast_group_entry { } }");
    expectNothing("packet_replication_engine_entry { clone_session_entry { } }");
    for (String counter : List.of("ingress_port_counter", "egress_port_counter")) {
      int cells = read("counter_entry { counter_id: " + id(counter) + " }").size();
      expect(cells == 511, counter + " has " + cells + " cells");
    }
  }

  /** Links are found by what comes back at the other end of a cable. */
  static void discover(Stream stream) throws Exception {
    int rule = 0;
    for (int type : new int[] {ARP, LLDP, BDDP, IPV4}) {
      String match = ternary(4, 16, type);
      int priority = type == IPV4 ? 6 : 40001;
      String insert = update("INSERT", tableEntry(match, priority, action("send_to_cpu", "")));
      expect(write(insert), Status.Code.OK);
      // It is sent again before it is known to be there.
      if (rule++ == 0) {
        expect(write(insert), Status.Code.ALREADY_EXISTS);
      }
    }
    for (int port = 1; port <= 4; port++) {
      stream.packetOut(port, frame(LLDP, port));
      stream.packetOut(port, frame(BDDP, port));
    }
    Set<String> links = Set.of("88cc 1 2", "88cc 2 1", "8942 1 2", "8942 2 1");
    for (int left = 0; left < links.size(); left++) {
      String link = stream.links.poll(20, TimeUnit.SECONDS);
      expect(link != null && links.contains(link), "the link " + link);
    }
    expect(read(entry("table0", "")).size() == 4, "four rules");
  }

  static byte[] frame(int type, int port) {
    byte[] frame = new byte[125];
    frame[5] = 0x0e;
    frame[11] = (byte) port;
    frame[12] = (byte) (type >> 8);
    frame[13] = (byte) type;
    frame[14] = (byte) port;
    return frame;
  }

  /** The rules of the hosts have counted what passed by them, and are deleted. */
  static void rulesCounted() {
    List<DynamicMessage> rules = new ArrayList<>();
    for (DynamicMessage entity : read(entry("table0", "counter_data { }"))) {
      DynamicMessage rule = (DynamicMessage) field(entity, "table_entry");
      if (field(rule, "priority").equals(REACTIVE)) {
        DynamicMessage counted = (DynamicMessage) field(rule, "counter_data");
        expect((long) field(counted, "packet_count") > 0, "nothing counted: " + rule);
        rules.add(rule);
      }
    }
    expect(rules.size() == 2, rules.size() + " rules of hosts");
    for (DynamicMessage rule : rules) {
      DynamicMessage.Builder key = rule.toBuilder();
      key.clearField(rule.getDescriptorForType().findFieldByName("counter_data"));
      String delete = update("DELETE", "table_entry {" + key.build() + "}");
      expect(write(delete), Status.Code.OK);
      expect(write(delete), Status.Code.NOT_FOUND);
    }
  }

  /** Weighted next hops: members, then the group, then the entry; away in the other order. */
  static void groups() {
    String profile = "action_profile_id: " + id("wcmp_selector");
    List<String> members = new ArrayList<>();
    for (int port : HOST_PORTS) {
      members.add("action_profile_member { " + profile + " member_id: " + port
          + " action { " + action("set_egress_port", param(1, bytes(port, 2))) + " } }");
    }
    String group = "action_profile_group { " + profile + " group_id: 7 max_size: 16"
        + " members { member_id: 3 weight: 1 } members { member_id: 4 weight: 2 } }";
    String smaller = "action_profile_group { " + profile + " group_id: 7 max_size: 16"
        + " members { member_id: 4 weight: 1 } }";
    String hop = entry("wcmp_table", "match { field_id: 1 exact { value: '\\x00\\x09' } }"
        + " action { action_profile_group_id: 7 }");
    expect(write(update("INSERT", members.get(0)) + update("INSERT", members.get(1))), Status.Code.OK);
    expect(write(update("INSERT", group)), Status.Code.OK);
    expect(write(update("INSERT", hop)), Status.Code.OK);
    String reading = "action_profile_group { " + profile + " }";
    expect(read(reading).size() == 1, "one group");
    expect(read("action_profile_member { " + profile + " }").size() == 2, "two members");
    expect(write(update("MODIFY", smaller)), Status.Code.OK);
    DynamicMessage there = (DynamicMessage) field(read(reading).get(0), "action_profile_group");
    expect(((List<?>) field(there, "members")).size() == 1, "one member is left: " + there);
    // In use by an entry, it stays.
    expect(write(update("DELETE", group)) != Status.Code.OK, "a group in use is deleted");
    for (String one : List.of(hop, group, members.get(0), members.get(1))) {
      expect(write(update("DELETE", one)), Status.Code.OK);
    }
    expectNothing(reading);
  }

  /** Groups and sessions as ONOS writes them: ports as numbers, an instance of each. */
  static void replication() {
    String multicast = "packet_replication_engine_entry { multicast_group_entry { multicast_group_id: 5"
        + " replicas { egress_port: 3 instance: 1 } replicas { egress_port: 4 instance: 1 } } }";
    String session = "packet_replication_engine_entry { clone_session_entry { session_id: 99"
        + " replicas { egress_port: 255 instance: 1 } class_of_service: 0 packet_length_bytes: 0 } }";
    for (String one : List.of(multicast, session)) {
      expect(write(update("INSERT", one)), Status.Code.OK);
      expect(write(update("INSERT", one)), Status.Code.ALREADY_EXISTS);
    }
    List<DynamicMessage> sessions = read("packet_replication_engine_entry { clone_session_entry { } }");
    expect(sessions.size() == 1, "one session: " + sessions);
    List<DynamicMessage> groups = read("packet_replication_engine_entry { multicast_group_entry { } }");
    expect(groups.toString().contains("egress_port: 3"), "ports as numbers: " + groups);
    for (String one : List.of(multicast, session)) {
      expect(write(update("DELETE", one)), Status.Code.OK);
    }
  }

  static void meters() {
    String key = entry("host_meter_table", "match { field_id: 1 lpm { value: '\\x02\\x00\\x00\\x00\\x00\\x01'"
        + " prefix_len: 48 } }");
    String host = entry("host_meter_table", "match { field_id: 1 lpm { value: '\\x02\\x00\\x00\\x00\\x00\\x01'"
        + " prefix_len: 48 } } action { " + "action { action_id: " + id("meter_by_source") + " } }");
    expect(write(update("INSERT", host)), Status.Code.OK);
    String police = "direct_meter_entry { " + key + " config { cir: 1000 cburst: 2000 pir: 3000 pburst: 4000 } }";
    expect(write(update("MODIFY", police)), Status.Code.OK);
    List<DynamicMessage> found = read("direct_meter_entry { " + entry("host_meter_table", "") + " }");
    expect(found.size() == 1 && found.toString().contains("pburst: 4000"), "the meter: " + found);
    expect(write(update("DELETE", host)), Status.Code.OK);
  }

  /** ONOS asks for the cells of the ports that it knows. */
  static void portCounters() {
    StringBuilder cells = new StringBuilder();
    for (int port = 1; port <= 4; port++) {
      for (String counter : List.of("ingress_port_counter", "egress_port_counter")) {
        cells.append("entities { counter_entry { counter_id: ").append(id(counter));
        cells.append(" index { index: ").append(port).append(" } } }");
      }
    }
    List<DynamicMessage> found = answers(cells.toString());
    expect(found.size() == 8, "eight cells: " + found);
    for (DynamicMessage cell : found) {
      DynamicMessage data = (DynamicMessage) field((DynamicMessage) field(cell, "counter_entry"), "data");
      expect((long) field(data, "packet_count") > 0, "something passed every port: " + cell);
      expect((long) field(data, "byte_count") > 0, "it had bytes: " + cell);
    }
  }

  /** Another instance of the cluster is standby, reads, may not write, and takes over. */
  static void secondInstance(Stream first) throws Exception {
    Stream second = new Stream();
    second.arbitrate(59);
    expect(second.code(), Status.Code.ALREADY_EXISTS);
    long own = election;
    election = 59;
    expect(write(update("INSERT", tableEntry(ternary(4, 16, 0x86dd), 5, action("drop", "")))),
        Status.Code.PERMISSION_DENIED);
    expect(read(entry("table0", "")).size() == 4, "a standby reads");
    second.arbitrate(80);
    expect(second.code(), Status.Code.OK);
    expect(first.code(), Status.Code.ALREADY_EXISTS);
    election = own;
    expect(write(update("INSERT", tableEntry(ternary(4, 16, 0x86dd), 5, action("drop", "")))),
        Status.Code.PERMISSION_DENIED);
    election = 80;
    second.out.onCompleted();
    expect(first.code(), Status.Code.NOT_FOUND);
    first.becomePrimary(100);
  }

  /** ONOS deletes what it reads. */
  static void clear() {
    StringBuilder updates = new StringBuilder();
    for (DynamicMessage entity : read(entry("table0", ""))) {
      updates.append(" updates { type: DELETE entity {").append(entity).append("} }");
    }
    expect(write(updates.toString()), Status.Code.OK);
    expectNothing(entry("table0", ""));
  }

  static String electionId() {
    return "election_id { low: " + election + " }";
  }

  static String entry(String table, String rest) {
    return "table_entry { table_id: " + id(table) + " " + rest + " }";
  }

  static String tableEntry(String match, int priority, String action) {
    return entry("table0", match + " priority: " + priority + " action { action { " + action + " } }");
  }

  /** The inside of an action, or of a profile's member. */
  static String action(String name, String params) {
    return "action_id: " + id(name) + " " + params;
  }

  static String param(int number, String value) {
    return "params { param_id: " + number + " value: '" + value + "' }";
  }

  static String ternary(int field, int bits, long value) {
    int size = (bits + 7) / 8;
    long mask = -1L >>> (64 - bits);
    return " match { field_id: " + field + " ternary { value: '" + bytes(value, size) + "' mask: '"
        + bytes(mask, size) + "' } }";
  }

  /** A number in so many bytes, zeros in front included, as ONOS writes them. */
  static String bytes(long value, int size) {
    StringBuilder text = new StringBuilder();
    for (int shift = 8 * (size - 1); shift >= 0; shift -= 8) {
      text.append(String.format("\\x%02x", value >> shift & 0xff));
    }
    return text.toString();
  }

  static String update(String type, String entity) {
    return " updates { type: " + type + " entity { " + entity + " } }";
  }

  /** What becomes of the first update that fails, or OK. */
  static Status.Code write(String updates) {
    DynamicMessage request =
        builder("WriteRequest", "device_id: 1 " + electionId() + updates).build();
    try {
      call(channel, "Write", request);
      return Status.Code.OK;
    } catch (StatusRuntimeException error) {
      byte[] details = error.getTrailers().get(
          Metadata.Key.of("grpc-status-details-bin", Metadata.BINARY_BYTE_MARSHALLER));
      if (details == null) {
        return error.getStatus().getCode();
      }
      expect(error.getStatus().getCode(), Status.Code.UNKNOWN);
      try {
        for (Any any : com.google.rpc.Status.parseFrom(details).getDetailsList()) {
          DynamicMessage one = DynamicMessage.parseFrom(TYPES.get("p4.v1.Error"), any.getValue());
          int code = (int) field(one, "canonical_code");
          if (code != 0) {
            return Status.fromCodeValue(code).getCode();
          }
        }
      } catch (com.google.protobuf.InvalidProtocolBufferException malformed) {
        throw new IllegalStateException(malformed);
      }
      return Status.Code.UNKNOWN;
    }
  }

  static void expect(Status.Code found, Status.Code code) {
    expect(found == code, found + " and not " + code);
  }

  static List<DynamicMessage> read(String entity) {
    return answers("entities { " + entity + " }");
  }

  static List<DynamicMessage> answers(String entities) {
    DynamicMessage request = builder("ReadRequest", "device_id: 1 " + entities).build();
    List<DynamicMessage> found = new ArrayList<>();
    var answers =
        ClientCalls.blockingServerStreamingCall(channel, method("Read"), CallOptions.DEFAULT, request);
    while (answers.hasNext()) {
      for (Object entity : (List<?>) field(answers.next(), "entities")) {
        found.add((DynamicMessage) entity);
      }
    }
    return found;
  }

  static void expectNothing(String entity) {
    List<DynamicMessage> found = read(entity);
    expect(found.isEmpty(), "nothing of " + entity + ": " + found);
  }

  static int id(String alias) {
    return IDS.get(alias);
  }

  static void learnIds(String p4info) {
    DynamicMessage info = builder("p4.config.v1.P4Info", p4info).build();
    for (var field : info.getAllFields().entrySet()) {
      if (field.getKey().isRepeated() && field.getValue() instanceof List<?> objects) {
        for (Object object : objects) {
          DynamicMessage preamble = (DynamicMessage) field((DynamicMessage) object, "preamble");
          IDS.put((String) field(preamble, "alias"), (Integer) field(preamble, "id"));
        }
      }
    }
  }

  /** A stream of the device, and what ONOS's applications do with packets. */
  static class Stream extends Messages {
    /** Type, port that a probe left by, port that it came back by. */
    final BlockingQueue<String> links = new LinkedBlockingQueue<>();
    final BlockingQueue<byte[]> ipv4 = new LinkedBlockingQueue<>();
    final Set<Integer> ruled = ConcurrentHashMap.newKeySet();

    Stream() {
      super(channel);
    }

    void arbitrate(long id) {
      arbitrate(1, id);
    }

    void becomePrimary(long id) throws Exception {
      arbitrate(id);
      election = id;
      expect(code(), Status.Code.OK);
    }

    /** The status of the next answer to an arbitration. */
    Status.Code code() throws Exception {
      Object answer = heard.poll(20, TimeUnit.SECONDS);
      expect(answer instanceof DynamicMessage, "an answer and not " + answer);
      DynamicMessage update = (DynamicMessage) field((DynamicMessage) answer, "arbitration");
      expect(update.hasField(update.getDescriptorForType().findFieldByName("status")), "a status in " + answer);
      expect(field(update, "device_id").equals(1L), "the device in " + answer);
      return Status.fromCodeValue((int) field((DynamicMessage) field(update, "status"), "code")).getCode();
    }

    void packetOut(int port, byte[] payload) {
      DynamicMessage.Builder packet =
          builder("PacketOut", "metadata { metadata_id: 1 value: '" + bytes(port, 2) + "' }");
      set(packet, "payload", ByteString.copyFrom(payload));
      DynamicMessage.Builder request = builder("StreamMessageRequest", "");
      set(request, "packet", packet.build());
      // A stream is not to be used by two threads at once.
      synchronized (out) {
        out.onNext(request.build());
      }
    }

    /** As the application fwd: each packet goes to the other host, and a rule for the next ones is written. */
    void awaitRules() throws Exception {
      while (ruled.size() < HOST_PORTS.length) {
        byte[] packet = ipv4.poll(60, TimeUnit.SECONDS);
        expect(packet != null, "no packet of a host");
        int from = packet[packet.length - 1];
        int to = HOST_PORTS[0] + HOST_PORTS[1] - from;
        byte[] frame = java.util.Arrays.copyOf(packet, packet.length - 1);
        packetOut(to, frame);
        if (ruled.add(from)) {
          String match = ternary(1, 9, from) + ternary(2, 48, address(frame, 6)) + ternary(3, 48, address(frame, 0));
          String action = action("set_egress_port", param(1, bytes(to, 2)));
          expect(write(update("INSERT", tableEntry(match, REACTIVE, action))), Status.Code.OK);
        }
      }
    }

    static long address(byte[] frame, int at) {
      long address = 0;
      for (int position = at; position < at + 6; position++) {
        address = address << 8 | frame[position] & 0xff;
      }
      return address;
    }

    @Override
    void packet(DynamicMessage packet) {
      byte[] payload = ((ByteString) field(packet, "payload")).toByteArray();
      DynamicMessage metadata = (DynamicMessage) ((List<?>) field(packet, "metadata")).get(0);
      expect(field(metadata, "metadata_id").equals(1), "the ingress port comes first: " + metadata);
      byte[] value = ((ByteString) field(metadata, "value")).toByteArray();
      int port = new java.math.BigInteger(1, value).intValue();
      int type = (payload[12] & 0xff) << 8 | payload[13] & 0xff;
      if (type == LLDP || type == BDDP) {
        links.add(Integer.toHexString(type) + " " + payload[14] + " " + port);
      } else if (type == IPV4) {
        byte[] with = java.util.Arrays.copyOf(payload, payload.length + 1);
        with[payload.length] = (byte) port;
        ipv4.add(with);
      }
    }
  }
}
