//! The searches of DPDK's rte_lpm, rte_fib and rte_acl, through `shim/matching.c`.

#![allow(unsafe_code, reason = "calls into the C shim")]

use std::ffi::{c_int, c_void};
use std::time::Duration;

use super::routes::Route;
use super::rules::{Packet, Rule};
use super::{Search, timed};

unsafe extern "C" {
    fn shim_init() -> c_int;
    fn shim_reserve(bytes: usize) -> c_int;
    fn shim_lpm_new(routes: u32) -> *mut c_void;
    fn shim_lpm_add(lpm: *mut c_void, address: u32, length: u8, number: u32) -> c_int;
    fn shim_lpm_search(lpm: *mut c_void, keys: *const u32, count: usize) -> u64;
    fn shim_lpm_free(lpm: *mut c_void);
    fn shim_fib_new(routes: u32) -> *mut c_void;
    fn shim_fib_add(fib: *mut c_void, address: u32, length: u8, number: u32) -> c_int;
    fn shim_fib_search(fib: *mut c_void, keys: *const u32, count: usize) -> u64;
    fn shim_fib_free(fib: *mut c_void);
    fn shim_acl_new(rules: *const Rule, count: u32) -> *mut c_void;
    fn shim_acl_search(acl: *mut c_void, packets: *const Packet, count: usize) -> u64;
    fn shim_acl_free(acl: *mut c_void);
}

/// The largest number of routes for rte_lpm, which scans all routes of a length for each insertion:
/// with more routes, filling takes minutes.
const LPM_ROUTES: usize = 200_000;

/// The bytes that a million routes need.
const MEMORY: usize = 1 << 30;

fn is_ready() -> bool {
    static READY: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    // SAFETY: the function is called once, before any other function of the shim, on the thread
    // that uses it.
    let ready = *READY.get_or_init(|| unsafe { shim_init() == 0 && shim_reserve(MEMORY) == 0 });
    if !ready {
        eprintln!("SKIPPED: DPDK's environment did not start");
    }
    ready
}

/// The functions of one structure: how routes are added, searched and freed.
struct Functions {
    name: &'static str,
    new: unsafe extern "C" fn(u32) -> *mut c_void,
    add: unsafe extern "C" fn(*mut c_void, u32, u8, u32) -> c_int,
    search: unsafe extern "C" fn(*mut c_void, *const u32, usize) -> u64,
    free: unsafe extern "C" fn(*mut c_void),
}

const LPM: Functions = Functions {
    name: "rte_lpm, bulk 32",
    new: shim_lpm_new,
    add: shim_lpm_add,
    search: shim_lpm_search,
    free: shim_lpm_free,
};
const FIB: Functions = Functions {
    name: "rte_fib, DIR-24-8, bulk 32",
    new: shim_fib_new,
    add: shim_fib_add,
    search: shim_fib_search,
    free: shim_fib_free,
};

struct Routes {
    functions: Functions,
    table: *mut c_void,
    keys: Vec<u32>,
    filling: Duration,
}

pub(crate) fn routes(routes: &[Route], keys: &[u32]) -> Vec<Box<dyn Search>> {
    if !is_ready() {
        return Vec::new();
    }
    let mut searches: Vec<Box<dyn Search>> = Vec::new();
    for functions in [LPM, FIB] {
        if functions.name == LPM.name && routes.len() > LPM_ROUTES {
            eprintln!(
                "SKIPPED: {} with more than {LPM_ROUTES} routes takes minutes to fill",
                LPM.name
            );
            continue;
        }
        // SAFETY: the environment is running; the result is checked for null.
        let table = unsafe { (functions.new)(routes.len() as u32) };
        if table.is_null() {
            eprintln!("SKIPPED: no {} for {} routes", functions.name, routes.len());
            continue;
        }
        let (failed, filling) = timed(|| {
            let add = |(number, route): (usize, &Route)| {
                // SAFETY: the table is alive and used only by this thread.
                unsafe { (functions.add)(table, route.0, route.1, number as u32) }
            };
            routes.iter().enumerate().map(add).any(|status| status != 0)
        });
        let search = Routes { functions, table, keys: keys.to_vec(), filling };
        if failed {
            eprintln!("SKIPPED: {} refused a route", search.functions.name);
            continue;
        }
        searches.push(Box::new(search));
    }
    searches
}

impl Search for Routes {
    fn name(&self) -> &str {
        self.functions.name
    }

    fn filling(&self) -> Duration {
        self.filling
    }

    fn search(&mut self) -> u64 {
        // SAFETY: the table is alive and used only by this thread, and the pointer and the length
        // are those of one vector.
        unsafe { (self.functions.search)(self.table, self.keys.as_ptr(), self.keys.len()) }
    }
}

impl Drop for Routes {
    fn drop(&mut self) {
        // SAFETY: the table is alive and not used again.
        unsafe { (self.functions.free)(self.table) };
    }
}

struct Acl {
    context: *mut c_void,
    packets: Vec<Packet>,
    filling: Duration,
}

pub(crate) fn rules(rules: &[Rule], packets: &[Packet]) -> Vec<Box<dyn Search>> {
    if !is_ready() {
        return Vec::new();
    }
    // SAFETY: the environment is running, the pointer and the length are those of one slice, and
    // the result is checked for null.
    let (context, filling) = timed(|| unsafe { shim_acl_new(rules.as_ptr(), rules.len() as u32) });
    if context.is_null() {
        eprintln!("SKIPPED: no rte_acl for {} rules", rules.len());
        return Vec::new();
    }
    vec![Box::new(Acl { context, packets: packets.to_vec(), filling })]
}

impl Search for Acl {
    fn name(&self) -> &str {
        "rte_acl, bulk 32, built once"
    }

    fn filling(&self) -> Duration {
        self.filling
    }

    fn search(&mut self) -> u64 {
        // SAFETY: the context is alive and used only by this thread, and the pointer and the length
        // are those of one vector.
        unsafe { shim_acl_search(self.context, self.packets.as_ptr(), self.packets.len()) }
    }
}

impl Drop for Acl {
    fn drop(&mut self) {
        // SAFETY: the context is alive and not used again.
        unsafe { shim_acl_free(self.context) };
    }
}
