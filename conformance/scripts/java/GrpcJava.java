import com.google.protobuf.Any;
import com.google.protobuf.ByteString;
import com.google.protobuf.DynamicMessage;
import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCalls;
import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/**
 * A P4Runtime controller on grpc-java over Netty: java GrpcJava MODE HOST:PORT DEVICES DESCRIPTORS P4INFO [TLS]
 *
 * <p>Becomes primary of devices 1 to DEVICES over one connection, pushes the pipeline and returns
 * every packet-in. With MODE "faults" it makes calls before that whose outcome depends on how gRPC
 * is served. TLS is a folder with authority.pem, certificate.pem and key.pem.
 */
public class GrpcJava extends Client {
  static final int TABLE = 0x02000001;

  public static void main(String[] arguments) throws Exception {
    address(arguments[1]);
    long devices = Long.parseLong(arguments[2]);
    load(Files.readAllBytes(Path.of(arguments[3])));
    String p4info = Files.readString(Path.of(arguments[4]));
    tls = arguments.length > 5 ? new File(arguments[5]) : null;

    ManagedChannel channel = dial(8 << 10);
    List<Stream> streams = new ArrayList<>();
    for (long device = 1; device <= devices; device++) {
      streams.add(new Stream(channel, device));
    }
    for (Stream stream : streams) {
      stream.awaitPrimary();
    }
    boolean faults = arguments[0].equals("faults");
    int size = faults ? 8 << 20 : 1000;
    for (long device = 1; device <= devices; device++) {
      if (faults) {
        // The run begins to send packets as soon as there is a pipeline.
        faults(channel, device);
      }
      DynamicMessage.Builder push = builder("SetForwardingPipelineConfigRequest",
          "device_id: " + device + " election_id { low: 1 } action: VERIFY_AND_COMMIT"
          + " config { p4info {" + p4info + "} cookie { cookie: 7 } }");
      DynamicMessage.Builder config = ((DynamicMessage) field(push.build(), "config")).toBuilder();
      set(config, "p4_device_config", ByteString.copyFrom(new byte[size]));
      set(push, "config", config.build());
      call(channel, "SetForwardingPipelineConfig", push.build());
    }
    if (faults) {
      DynamicMessage there = call(channel, "GetForwardingPipelineConfig",
          builder("GetForwardingPipelineConfigRequest", "device_id: 1").build());
      ByteString config = (ByteString) field((DynamicMessage) field(there, "config"), "p4_device_config");
      expect(config.size() == size, "a device config of " + config.size() + " bytes");
      writes(channel);
      expect(streams.get(0).heard.isEmpty(), "heard " + streams.get(0).heard);
    }
    System.out.println("ready");
    Object end = "";
    for (Stream stream : streams) {
      end = stream.heard.take();
    }
    System.out.println("ended " + end);
    System.exit(0);
  }

  /** Calls that need no pipeline, and must not disturb the stream of the connection. */
  static void faults(ManagedChannel channel, long device) throws Exception {
    DynamicMessage ask = builder("CapabilitiesRequest", "device_id: " + device).build();
    expect(!field(call(channel, "Capabilities", ask), "p4runtime_api_version").equals(""), "no version");
    expect(failure(channel, method("Capabilities"), CallOptions.DEFAULT.withCompression("gzip"), ask),
        Status.Code.UNIMPLEMENTED);
    for (String service : List.of("grpc.health.v1.Health/Check", "p4.v1.P4Runtime/Nothing")) {
      MethodDescriptor<DynamicMessage, DynamicMessage> unknown =
          method("Capabilities").toBuilder().setFullMethodName(service).build();
      expect(failure(channel, unknown, CallOptions.DEFAULT, ask), Status.Code.UNIMPLEMENTED);
    }
    DynamicMessage.Builder large = builder("SetForwardingPipelineConfigRequest", "config { cookie { cookie: 1 } }");
    DynamicMessage.Builder config = ((DynamicMessage) field(large.build(), "config")).toBuilder();
    set(config, "p4_device_config", ByteString.copyFrom(new byte[65 << 20]));
    set(large, "config", config.build());
    expect(failure(channel, method("SetForwardingPipelineConfig"), CallOptions.DEFAULT, large.build()),
        Status.Code.RESOURCE_EXHAUSTED);
  }

  /** Batches with errors, and reads that are given up. */
  static void writes(ManagedChannel channel) throws Exception {
    expect(write(channel, 1000), 0, Status.Code.OK);
    // Errors with their sentences, without them, and more than 8 KiB of metadata hold.
    expect(write(channel, 20), 20, Status.Code.UNKNOWN);
    expect(write(channel, 100), 100, Status.Code.UNKNOWN);
    expect(write(channel, 1000), 0, Status.Code.UNKNOWN);
    expect(write(dial(16 << 20), 1000), 1000, Status.Code.UNKNOWN);
    List<Future<?>> reads = new ArrayList<>();
    var threads = Executors.newFixedThreadPool(50);
    for (int number = 0; number < 200; number++) {
      reads.add(threads.submit(() -> {
        try {
          read(channel, CallOptions.DEFAULT.withDeadlineAfter(1, TimeUnit.MILLISECONDS));
        } catch (StatusRuntimeException error) {
          expect(error.getStatus(), Status.Code.DEADLINE_EXCEEDED);
        }
      }));
    }
    for (Future<?> read : reads) {
      read.get();
    }
    threads.shutdown();
    int found = read(channel, CallOptions.DEFAULT);
    // The default entry is there as well.
    expect(found == 1001 || found == 1000, found + " entries");
  }

  /** Inserts entries, and returns how many errors say that one exists already, and the status. */
  static Map.Entry<Integer, Status> write(ManagedChannel channel, int count) throws Exception {
    StringBuilder text = new StringBuilder("device_id: 1 election_id { low: 1 }");
    for (int number = 0; number < count; number++) {
      String address = String.format("\\x02\\x00\\x00\\x00\\x%02x\\x%02x", number >> 8, number & 255);
      text.append(" updates { type: INSERT entity { table_entry { table_id: ").append(TABLE);
      text.append(" priority: 1 match { field_id: 3 ternary { value: '").append(address);
      text.append("' mask: '\\xff\\xff\\xff\\xff\\xff\\xff' } }");
      text.append(" action { action { action_id: 0x01000003 } } } } }");
    }
    DynamicMessage request = builder("WriteRequest", text.toString()).build();
    try {
      call(channel, "Write", request);
      return Map.entry(0, Status.OK);
    } catch (StatusRuntimeException error) {
      byte[] details = error.getTrailers().get(
          Metadata.Key.of("grpc-status-details-bin", Metadata.BINARY_BYTE_MARSHALLER));
      int existing = 0;
      if (details != null) {
        for (Any any : com.google.rpc.Status.parseFrom(details).getDetailsList()) {
          DynamicMessage one = DynamicMessage.parseFrom(TYPES.get("p4.v1.Error"), any.getValue());
          existing += field(one, "canonical_code").equals(Status.Code.ALREADY_EXISTS.value()) ? 1 : 0;
        }
      }
      return Map.entry(existing, error.getStatus());
    }
  }

  static int read(ManagedChannel channel, CallOptions options) {
    DynamicMessage request =
        builder("ReadRequest", "device_id: 1 entities { table_entry { table_id: " + TABLE + " } }").build();
    int found = 0;
    var answers = ClientCalls.blockingServerStreamingCall(channel, method("Read"), options, request);
    while (answers.hasNext()) {
      DynamicMessage answer = answers.next();
      found += answer.getRepeatedFieldCount(answer.getDescriptorForType().findFieldByName("entities"));
    }
    return found;
  }

  /** A stream of one device. */
  static class Stream extends Messages {
    Stream(ManagedChannel channel, long device) {
      super(channel);
      arbitrate(device, 1);
    }

    void awaitPrimary() throws Exception {
      DynamicMessage answer = (DynamicMessage) heard.take();
      DynamicMessage status = (DynamicMessage) field((DynamicMessage) field(answer, "arbitration"), "status");
      expect(field(status, "code").equals(0), "not primary: " + answer);
    }

    /** It goes back. */
    @Override
    void packet(DynamicMessage packet) {
      List<?> metadata = (List<?>) field(packet, "metadata");
      DynamicMessage.Builder port = ((DynamicMessage) metadata.get(0)).toBuilder();
      DynamicMessage.Builder answer = builder("PacketOut",
          "metadata { metadata_id: 2 value: '\\x00' } metadata { metadata_id: 3 value: '\\x00' }");
      set(answer, "payload", field(packet, "payload"));
      set(port, "metadata_id", 1);
      answer.addRepeatedField(answer.getDescriptorForType().findFieldByName("metadata"), port.build());
      DynamicMessage.Builder request = builder("StreamMessageRequest", "");
      set(request, "packet", answer.build());
      out.onNext(request.build());
    }
  }

  static void expect(Map.Entry<Integer, Status> outcome, int errors, Status.Code code) {
    expect(outcome.getValue(), code);
    expect(outcome.getKey() == errors, outcome.getKey() + " errors and not " + errors);
  }
}
