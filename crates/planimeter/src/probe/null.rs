//! The null controller of `planimeter probe --calibrate`, which answers everything. The rate that
//! is measured with it is the maximum rate of the probe on this host.

use std::time::Duration;

use probe::HeldPorts;
use probe::config::{Config, Load, Mode, Protocol};

use crate::embedded::Controller;
use crate::failure::Failure;

/// The offered rate, in packet-ins per second, at and above which the null controller collects
/// packet-ins and answers them together. If it answered each packet-in immediately, it would fall
/// behind at about twice this rate, before the probe does.
const GATHER_FROM: f64 = 50_000.0;
/// The time for which the null controller collects packet-ins at rates of [`GATHER_FROM`] or more.
const GATHER: Duration = Duration::from_micros(50);

/// Starts the null controller, and returns it with the reserved ports of the emulated switches.
/// Over P4Runtime the controller dials these ports. They stay reserved until the run ends, so that
/// connections of the controller do not use them. Over OpenFlow no ports are reserved. Returns an
/// error if the load is not of packet-ins.
pub(super) fn start(config: &Config) -> Result<(Controller, HeldPorts), Failure> {
    if config.traffic.load != Load::PacketIn {
        return Err(Failure::input(
            "--calibrate measures packet-ins only, since the null controller acknowledges no digests and ignores \
             idle entries; omit --load: the schedule and the sockets of the probe are the same",
        ));
    }
    match config.protocol {
        Protocol::P4Runtime => {
            let mut config = config.clone();
            // The run applies the same limit.
            let _ = probe::fit_to_file_limit(&mut config);
            let ports = HeldPorts::take(&config, true).map_err(Failure::input)?;
            ports.apply(&mut config);
            let gather = gather(&config).as_micros().to_string();
            let addresses = probe::device_addresses(&config);
            let controller = Controller::p4runtime("null", &addresses, &["--gather", &gather])?;
            Ok((controller, ports))
        }
        Protocol::OpenFlow10 | Protocol::OpenFlow13 => {
            // A flood is answered with prepared bytes.
            let prepared = config.traffic.mode == Mode::Flood;
            let controller =
                Controller::openflow("null", if prepared { &["--prepared"] } else { &[] })?;
            Ok((controller, HeldPorts::default()))
        }
    }
}

/// Returns the time for which the null controller collects packet-ins before it answers them
/// together, or zero if it answers each immediately.
///
/// Answers that leave on the same connection together cost much less. Packet-ins are collected only
/// if P4Runtime switches share connections, and the probe sends on a schedule. In a closed loop the
/// probe would wait for the answers.
fn gather(config: &Config) -> Duration {
    let is_dense = config.offered.is_some_and(|offered| offered >= GATHER_FROM);
    let shares = config.protocol == Protocol::P4Runtime && config.p4runtime.devices_per_port > 1;
    if is_dense && shares { GATHER } else { Duration::ZERO }
}

/// Returns a note for readers of the result if the null controller collects packet-ins before it
/// answers them, because this prolongs round-trip times.
pub(super) fn note(config: &Config) -> Option<String> {
    let gather = gather(config);
    (!gather.is_zero()).then(|| {
        format!(
            "The null client collected packet-ins for {gather:?} before it answered them, to leave the host to the \
             probe: round-trip times are longer by that time."
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::arguments;

    fn config(arguments: &str) -> Config {
        let words = ["probe"].into_iter().chain(arguments.split_whitespace());
        let matches = arguments::command().get_matches_from(words);
        arguments::resolve(&matches).expect("a configuration").config
    }

    #[test]
    fn loads_that_the_null_controller_does_not_answer_are_refused() {
        for load in ["digest", "idle-timeout"] {
            let config = config(&format!("-p p4runtime --load {load}"));
            let refused = start(&config).err().expect("it would measure nothing");
            assert!(matches!(&refused, Failure::Input(message) if message.contains("--calibrate")));
        }
    }

    #[test]
    fn packets_gather_for_dense_schedules_over_shared_connections_alone() {
        for dense in ["-n 50 -r 1k", "-n 5 --plan sweep --sweep-rates 100,10k"] {
            let config = config(&format!("-p p4runtime --devices-per-port 5 {dense}"));
            assert_eq!(gather(&config), GATHER, "{dense}");
            assert!(note(&config).is_some_and(|note| note.contains("50µs")), "{dense}");
        }
        for other in [
            "-p p4runtime --devices-per-port 5 -n 50 -r 999",
            "-p p4runtime --devices-per-port 5 -n 100 --mode closed -r 1k",
            "-p p4runtime -n 50 -r 1k",
            "-n 100 -r 1k",
        ] {
            let config = config(other);
            assert_eq!((gather(&config), note(&config)), (Duration::ZERO, None), "{other}");
        }
    }
}
