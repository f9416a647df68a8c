//! Tests of Planimeter with the controllers, clients, switches and other programs of other
//! projects. A test whose program `conformance/install.sh` did not install is skipped, and the
//! program is named.

mod authority;
mod book;
mod device_open_vswitch;
mod discovery;
mod dut_open_vswitch;
mod exercises;
mod faucet;
mod finsy;
mod grpc_java;
mod interrupted;
mod mininet;
mod onos;
mod os_ken;
mod ovs_testcontroller;
mod p4runtime_shell;
mod ptf;
mod pygnmi;
mod ranks;
mod rfc8456;
mod switch_entities;
mod switch_hosts;
mod switch_killed;
mod thrift;
mod tls;
