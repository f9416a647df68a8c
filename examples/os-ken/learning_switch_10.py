"""A learning switch over OpenFlow 1.0 with os-ken: python learning_switch_10.py [PORT]"""
import sys
from os_ken import cfg
from os_ken.base.app_manager import AppManager, OSKenApp
from os_ken.controller.handler import MAIN_DISPATCHER, set_ev_cls
from os_ken.controller.ofp_event import EventOFPPacketIn
from os_ken.ofproto import ofproto_v1_0 as of


class LearningSwitch(OSKenApp):
    OFP_VERSIONS = [of.OFP_VERSION]
    ports = {}

    @set_ev_cls(EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in(self, event):
        message, switch = event.msg, event.msg.datapath
        parser, destination, source = switch.ofproto_parser, message.data[:6], message.data[6:12]
        self.ports[switch.id, source] = message.in_port
        port = self.ports.get((switch.id, destination), of.OFPP_FLOOD)
        actions = [parser.OFPActionOutput(port)]
        if port != of.OFPP_FLOOD:
            match = parser.OFPMatch(in_port=message.in_port, dl_src=source, dl_dst=destination)
            switch.send_msg(parser.OFPFlowMod(switch, match, 0, of.OFPFC_ADD, actions=actions))
            print("rule", switch.id, destination.hex(), port)
        buffered = message.buffer_id != of.OFP_NO_BUFFER
        switch.send_msg(parser.OFPPacketOut(switch, message.buffer_id, message.in_port, actions,
                                            None if buffered else message.data))


if __name__ == "__main__":
    cfg.CONF(["--ofp-listen-host=127.0.0.1", "--ofp-tcp-listen-port=" + (sys.argv[1:] or ["6653"])[0]])
    AppManager.run_apps([__file__])
