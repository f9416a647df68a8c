"""A learning switch over OpenFlow 1.3 with os-ken: python learning_switch_13.py [PORT]"""
import sys
from os_ken import cfg
from os_ken.base.app_manager import AppManager, OSKenApp
from os_ken.controller.handler import CONFIG_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from os_ken.controller.ofp_event import EventOFPPacketIn, EventOFPSwitchFeatures
from os_ken.ofproto import ofproto_v1_3 as of


class LearningSwitch(OSKenApp):
    OFP_VERSIONS = [of.OFP_VERSION]
    ports = {}

    def rule(self, switch, priority, match, port):
        parser = switch.ofproto_parser
        actions = [parser.OFPActionOutput(port, of.OFPCML_NO_BUFFER)]
        apply = [parser.OFPInstructionActions(of.OFPIT_APPLY_ACTIONS, actions)]
        switch.send_msg(parser.OFPFlowMod(switch, priority=priority, match=match, instructions=apply))

    @set_ev_cls(EventOFPSwitchFeatures, CONFIG_DISPATCHER)
    def table_miss(self, event):
        switch = event.msg.datapath
        self.rule(switch, 0, switch.ofproto_parser.OFPMatch(), of.OFPP_CONTROLLER)

    @set_ev_cls(EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in(self, event):
        message, switch = event.msg, event.msg.datapath
        parser, destination, source = switch.ofproto_parser, message.data[:6], message.data[6:12]
        port = message.match["in_port"]
        self.ports[switch.id, source] = port
        out = self.ports.get((switch.id, destination), of.OFPP_FLOOD)
        if out != of.OFPP_FLOOD:
            self.rule(switch, 1, parser.OFPMatch(in_port=port, eth_dst=destination.hex(":")), out)
            print("rule", switch.id, destination.hex(), out)
        buffered = message.buffer_id != of.OFP_NO_BUFFER
        switch.send_msg(parser.OFPPacketOut(switch, message.buffer_id, port, [parser.OFPActionOutput(out)],
                                            None if buffered else message.data))


if __name__ == "__main__":
    cfg.CONF(["--ofp-listen-host=127.0.0.1", "--ofp-tcp-listen-port=" + (sys.argv[1:] or ["6653"])[0]])
    AppManager.run_apps([__file__])
