import com.google.protobuf.AnyProto;
import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.google.protobuf.DescriptorProtos.FileDescriptorSet;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.DynamicMessage;
import com.google.protobuf.TextFormat;
import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.shaded.io.grpc.netty.GrpcSslContexts;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.protobuf.ProtoUtils;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.StreamObserver;
import java.io.File;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/** P4Runtime in messages whose types come from a file of descriptors, over grpc-java and Netty. */
class Client {
  static final Map<String, Descriptor> TYPES = new HashMap<>();
  static String host;
  static int port;
  /** A folder with authority.pem, certificate.pem and key.pem, or null. */
  static File tls;

  /** Takes HOST:PORT. */
  static void address(String text) {
    int colon = text.lastIndexOf(':');
    host = text.substring(0, colon);
    port = Integer.parseInt(text.substring(colon + 1));
  }

  static ManagedChannel dial(int metadata) throws Exception {
    NettyChannelBuilder builder = NettyChannelBuilder.forAddress(host, port)
        .maxInboundMessageSize(256 << 20)
        .maxInboundMetadataSize(metadata);
    if (tls == null) {
      return builder.usePlaintext().build();
    }
    return builder.sslContext(GrpcSslContexts.forClient()
        .trustManager(new File(tls, "authority.pem"))
        .keyManager(new File(tls, "certificate.pem"), new File(tls, "key.pem"))
        .build()).build();
  }

  static MethodDescriptor<DynamicMessage, DynamicMessage> method(String name) {
    boolean stream = name.equals("StreamChannel");
    String of = stream ? "StreamMessage" : name;
    MethodType type = stream ? MethodType.BIDI_STREAMING
        : name.equals("Read") ? MethodType.SERVER_STREAMING : MethodType.UNARY;
    return MethodDescriptor.<DynamicMessage, DynamicMessage>newBuilder()
        .setType(type)
        .setFullMethodName("p4.v1.P4Runtime/" + name)
        .setRequestMarshaller(ProtoUtils.marshaller(builder(of + "Request", "").build()))
        .setResponseMarshaller(ProtoUtils.marshaller(builder(of + "Response", "").build()))
        .build();
  }

  static DynamicMessage call(ManagedChannel channel, String name, DynamicMessage request) {
    return ClientCalls.blockingUnaryCall(channel, method(name), CallOptions.DEFAULT, request);
  }

  static Status failure(ManagedChannel channel, MethodDescriptor<DynamicMessage, DynamicMessage> method,
      CallOptions options, DynamicMessage request) {
    try {
      ClientCalls.blockingUnaryCall(channel, method, options, request);
      return Status.OK;
    } catch (StatusRuntimeException error) {
      return error.getStatus();
    }
  }

  static void expect(Status status, Status.Code code) {
    expect(status.getCode() == code, status + " and not " + code);
  }

  static void expect(boolean is, String otherwise) {
    if (!is) {
      new AssertionError(otherwise).printStackTrace();
      System.exit(1);
    }
  }

  /** A stream of messages: packets are handled, all others wait to be heard, and so does the code with which it ends. */
  abstract static class Messages implements StreamObserver<DynamicMessage> {
    final BlockingQueue<Object> heard = new LinkedBlockingQueue<>();
    final StreamObserver<DynamicMessage> out;

    Messages(ManagedChannel channel) {
      out = ClientCalls.asyncBidiStreamingCall(
          channel.newCall(method("StreamChannel"), CallOptions.DEFAULT), this);
    }

    void arbitrate(long device, long election) {
      out.onNext(builder("StreamMessageRequest",
          "arbitration { device_id: " + device + " election_id { low: " + election + " } }").build());
    }

    abstract void packet(DynamicMessage packet);

    @Override
    public void onNext(DynamicMessage message) {
      if (message.hasField(message.getDescriptorForType().findFieldByName("packet"))) {
        packet((DynamicMessage) field(message, "packet"));
      } else {
        heard.add(message);
      }
    }

    @Override
    public void onError(Throwable error) {
      heard.add(Status.fromThrowable(error).getCode());
    }

    @Override
    public void onCompleted() {
      heard.add(Status.Code.OK);
    }
  }

  static Object field(DynamicMessage message, String name) {
    return message.getField(message.getDescriptorForType().findFieldByName(name));
  }

  static void set(DynamicMessage.Builder message, String name, Object value) {
    message.setField(message.getDescriptorForType().findFieldByName(name), value);
  }

  /** A message of P4Runtime from its text form. */
  static DynamicMessage.Builder builder(String name, String text) {
    DynamicMessage.Builder builder = DynamicMessage.newBuilder(TYPES.get(name.contains(".") ? name : "p4.v1." + name));
    try {
      TextFormat.merge(text, builder);
    } catch (TextFormat.ParseException error) {
      throw new IllegalArgumentException(error);
    }
    return builder;
  }

  /** Learns the types in a set of files. */
  static void load(byte[] descriptors) throws Exception {
    Map<String, FileDescriptor> files = new HashMap<>();
    files.put("google/protobuf/any.proto", AnyProto.getDescriptor());
    for (FileDescriptorProto file : FileDescriptorSet.parseFrom(descriptors).getFileList()) {
      if (files.containsKey(file.getName())) {
        continue;
      }
      FileDescriptor[] needed =
          file.getDependencyList().stream().map(files::get).toArray(FileDescriptor[]::new);
      FileDescriptor built = FileDescriptor.buildFrom(file, needed);
      files.put(file.getName(), built);
      built.getMessageTypes().forEach(type -> TYPES.put(type.getFullName(), type));
    }
  }
}
