//! Builds the C shims for the comparison with DPDK, if the feature `dpdk` is enabled.

fn main() {
    println!("cargo::rerun-if-changed=shim");
    #[cfg(feature = "dpdk")]
    dpdk();
}

#[cfg(feature = "dpdk")]
fn dpdk() {
    let library = match pkg_config::Config::new().atleast_version("22.11").probe("libdpdk") {
        Ok(library) => library,
        Err(error) => {
            println!(
                "cargo::error=feature dpdk needs DPDK 22.11 or later (Debian: libdpdk-dev): {error}"
            );
            return;
        }
    };
    cc::Build::new()
        .file("shim/matching.c")
        .file("shim/rte_hash.c")
        .includes(&library.include_paths)
        .flag("-include")
        .flag("rte_config.h")
        .flag("-march=corei7")
        .opt_level(3)
        .compile("tables_shim");
}
