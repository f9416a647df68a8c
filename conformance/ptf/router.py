"""PTF tests of programs/router.p4 with the entries of pipelines/router-runtime.json."""
import ptf
from ptf.base_tests import BaseTest
from ptf.testutils import (
    send_packet,
    simple_icmp_packet,
    simple_tcp_packet,
    simple_udp_packet,
    verify_no_other_packets,
    verify_packet,
)

HOST_1, HOST_2 = "02:00:00:00:00:01", "02:00:00:00:00:02"
ROUTER_1, ROUTER_2 = "02:00:00:00:fe:01", "02:00:00:00:fe:02"


class RouterTest(BaseTest):
    def setUp(self):
        super().setUp()
        self.dataplane = ptf.dataplane_instance
        self.dataplane.flush()

    def tearDown(self):
        verify_no_other_packets(self)
        super().tearDown()


def forth(make, ethernet, ttl, **more):
    """A packet of host 1 to host 2; Ethernet source and destination are those of a hop."""
    source, destination = ethernet
    return make(
        eth_src=source, eth_dst=destination, ip_src="10.0.1.1", ip_dst="10.0.2.1", ip_ttl=ttl, **more
    )


def back(ethernet, ttl):
    source, destination = ethernet
    return simple_tcp_packet(
        eth_src=source, eth_dst=destination, ip_src="10.0.2.1", ip_dst="10.0.1.1", ip_ttl=ttl
    )


class Forwards(RouterTest):
    """The time to live goes down, the checksum with it; the addresses are those of the next hop."""

    def runTest(self):
        for make in (simple_tcp_packet, simple_udp_packet, simple_icmp_packet):
            send_packet(self, 1, forth(make, (HOST_1, ROUTER_1), 64))
            verify_packet(self, forth(make, (ROUTER_2, HOST_2), 63), 2)


class BothWays(RouterTest):
    def runTest(self):
        send_packet(self, 1, forth(simple_tcp_packet, (HOST_1, ROUTER_1), 64, pktlen=1500))
        send_packet(self, 2, back((HOST_2, ROUTER_2), 9))
        verify_packet(self, forth(simple_tcp_packet, (ROUTER_2, HOST_2), 63, pktlen=1500), 2)
        verify_packet(self, back((ROUTER_1, HOST_1), 8), 1)


class DropsWhatIsWrong(RouterTest):
    """A wrong checksum, a time to live that ends, an address without a route."""

    def runTest(self):
        wrong = forth(simple_tcp_packet, (HOST_1, ROUTER_1), 64)
        wrong["IP"].chksum = 0x1234
        lost = simple_udp_packet(eth_dst=ROUTER_1, eth_src=HOST_1, ip_dst="192.0.2.1")
        for packet in (wrong, forth(simple_tcp_packet, (HOST_1, ROUTER_1), 1), lost):
            send_packet(self, 1, packet)
