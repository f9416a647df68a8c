//! Passes the level of optimisation to the crate, so that it can mark figures of an unoptimised
//! build.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!(
        "cargo:rustc-env=PLANIMETER_OPTIMISATION={}",
        std::env::var("OPT_LEVEL").unwrap_or_default()
    );
}
