//! Emulates switches without a measurement: they connect to a controller, or wait until one
//! connects to them, and stay connected.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::RunError;
use crate::config::Config;
use crate::engine::control::Phase;
use crate::engine::{Live, Orders};
use crate::onos::Onos;
use crate::trial::{POLL, TrialSetting, announce, join, plan, start};

/// Emulates the configured switches until `interrupt` becomes true. The switches answer a
/// controller's requests and carry discovery frames over their links. Their hosts announce
/// themselves by ARP once all switches are ready. No traffic is sent and nothing is measured.
///
/// `ready` is called each time that all switches have become ready.
///
/// # Errors
///
/// Returns an error if ports are not available or the switches cannot be set up.
pub fn serve(
    config: &Config,
    live: &Arc<Live>,
    interrupt: &AtomicBool,
    mut ready: impl FnMut(),
) -> Result<(), RunError> {
    let mut config = config.clone();
    crate::host::raise_file_limit();
    let _ = crate::engine::p4runtime::fit_to_file_limit(&mut config);
    let held = crate::engine::p4runtime::HeldPorts::take(&config, false)?;
    held.apply(&mut config);
    let setting = TrialSetting {
        switches: config.switches.count,
        rate: config.traffic.rate,
        repetition: 1,
        seed: config.seed,
    };
    let plan = Arc::new(plan(config, setting, None)?);
    let orders = Arc::new(Orders::new());
    live.begin(setting.switches);
    live.enter(Phase::Connecting);
    let (threads, _) = start(&plan, &orders, live, None)?;
    let announced = announce(&plan.config, interrupt);
    if announced.is_ok() {
        let mut were_ready = false;
        while !interrupt.load(Ordering::Relaxed) {
            let are_ready = live.ready() >= live.wanted();
            if are_ready && !were_ready {
                live.enter(Phase::Settling);
                orders.settle();
                ready();
            }
            were_ready = are_ready;
            std::thread::sleep(POLL);
        }
    }
    orders.stop();
    join(threads)?;
    if let (true, Some(onos)) = (plan.config.controller.onos_forget, Onos::of(&plan.config)) {
        let _ = onos.forget(&plan.config);
    }
    live.enter(Phase::Done);
    announced?;
    Ok(())
}
