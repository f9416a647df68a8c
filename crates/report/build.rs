//! Tells the crate how it is optimised: figures of a build that is not are marked.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!(
        "cargo:rustc-env=PLANIMETER_OPTIMISATION={}",
        std::env::var("OPT_LEVEL").unwrap_or_default()
    );
}
