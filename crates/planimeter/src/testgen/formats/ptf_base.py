import queue
import time

import grpc
import ptf
from google.protobuf import text_format
from p4.v1 import p4runtime_pb2, p4runtime_pb2_grpc
from ptf import testutils
from ptf.base_tests import BaseTest
from ptf.mask import Mask


class GeneratedTest(BaseTest):
    """A test on a switch that is controlled over P4Runtime.

    Parameters of ptf (--test-params):
      grpcaddr     the address of the P4Runtime server [localhost:9559]
      device_id    the device [0]
      election_id  the election id by which the test becomes the primary controller [1]
      p4info       a P4Info in text form, and
      config       a device configuration; if both are given, each test pushes them first
    """

    # The seconds by which each packet of a test is late, times its number. An entry whose timeout
    # is just over is then gone, although clocks differ, and eight packets are less than a second
    # late.
    MARGIN = 0.1

    started = None
    sent = 0

    def setUp(self):
        super().setUp()
        self.dataplane = ptf.dataplane_instance
        self.dataplane.flush()
        self.device_id = int(testutils.test_param_get("device_id", 0))
        self.election_id = p4runtime_pb2.Uint128(
            low=int(testutils.test_param_get("election_id", 1))
        )
        address = testutils.test_param_get("grpcaddr", "localhost:9559")
        # Cleanups run in reverse order, each of them even if others or this method fail.
        self.channel = grpc.insecure_channel(address)
        self.addCleanup(self.channel.close)
        self.stub = p4runtime_pb2_grpc.P4RuntimeStub(self.channel)
        # The stream stays open as long as the test is the primary controller.
        self.requests = queue.Queue()
        self.addCleanup(self.requests.put, None)
        self.stream = self.stub.StreamChannel(iter(self.requests.get, None))
        request = p4runtime_pb2.StreamMessageRequest()
        request.arbitration.device_id = self.device_id
        request.arbitration.election_id.CopyFrom(self.election_id)
        self.requests.put(request)
        next(self.stream)
        self.push()

    def push(self):
        """Pushes the pipeline, if the parameters name one."""
        p4info = testutils.test_param_get("p4info", None)
        config = testutils.test_param_get("config", None)
        if not p4info or not config:
            return
        request = p4runtime_pb2.SetForwardingPipelineConfigRequest()
        request.device_id = self.device_id
        request.election_id.CopyFrom(self.election_id)
        request.action = request.VERIFY_AND_COMMIT
        with open(p4info, encoding="utf-8") as file:
            text_format.Parse(file.read(), request.config.p4info)
        with open(config, "rb") as file:
            request.config.p4_device_config = file.read()
        self.stub.SetForwardingPipelineConfig(request)

    def send_update(self, update):
        request = p4runtime_pb2.WriteRequest()
        request.device_id = self.device_id
        request.election_id.CopyFrom(self.election_id)
        request.updates.append(update)
        self.stub.Write(request)

    def write(self, text):
        """Makes a p4.v1.Update, which is undone after the test."""
        update = text_format.Parse(text, p4runtime_pb2.Update())
        self.send_update(update)
        self.addCleanup(self.undo, update)

    def undo(self, update):
        """Deletes what was inserted, and resets default actions and registers."""
        if update.type == p4runtime_pb2.Update.INSERT:
            update.type = p4runtime_pb2.Update.DELETE
        elif update.entity.HasField("table_entry"):
            update.entity.table_entry.ClearField("action")
        elif update.entity.HasField("register_entry"):
            update.entity.register_entry.data.bitstring = b"\0"
        self.send_update(update)

    def set_expire_time(self, profile, seconds):
        """Sets the timeout of an expire time profile, which has none again after the test."""
        self.expire_time(profile, seconds)
        self.addCleanup(self.expire_time, profile, 0)

    def expire_time(self, profile, seconds):
        """Sets the timeout of an expire time profile. Zero stands for no timeout.

        P4Runtime has no message for that, so that tests which need it fail unless a subclass does
        it in the way of its switch.
        """
        raise NotImplementedError(
            f"the test needs {seconds} s as the timeout of expire time profile {profile}: "
            "override GeneratedTest.expire_time for this switch"
        )

    def wait_until(self, seconds):
        """Waits until a number of seconds has passed since the first packet."""
        now = time.monotonic()
        if self.started is None:
            self.started = now
        wait = self.started + seconds + self.sent * self.MARGIN - now
        self.sent += 1
        time.sleep(max(0, wait))

    def send(self, port, digits):
        """Sends a packet to a port of the switch."""
        testutils.send_packet(self, port, bytes.fromhex(digits))

    def expect(self, port, digits):
        """Expects a packet from a port. Digits that are * are not compared."""
        packet = Mask(bytes.fromhex(digits.replace("*", "0")))
        for position, digit in enumerate(digits):
            if digit == "*":
                packet.set_do_not_care(4 * position, 4)
        testutils.verify_packet(self, packet, port)

    def expect_no_other(self):
        """Expects no packets but those that were expected before."""
        testutils.verify_no_other_packets(self)
