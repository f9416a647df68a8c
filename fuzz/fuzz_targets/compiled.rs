#![no_main]

planimeter_fuzz::target_with_mutator!(compiled);

#[cfg(feature = "guard")]
#[global_allocator]
static ALLOCATOR: planimeter_fuzz::guard::Guarding = planimeter_fuzz::guard::Guarding;
