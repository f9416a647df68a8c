use std::path::Path;
fn main() {
    let mut args = std::env::args().skip(1);
    let mut bad = 0;
    let show = std::env::var("SHOW").is_ok();
    for path in args.by_ref() {
        let compiled = p4lang::with_large_stack(|| {
            p4lang::compile_file(
                Path::new(&path),
                &Default::default(),
                &p4lang::preprocess::DiskFiles,
            )
        })
        .unwrap()
        .unwrap();
        let text = compiled.messages(p4lang::diagnostic::Style::Plain);
        match &compiled.program {
            None => {
                bad += 1;
                println!("FAIL {path}\n{}", text.lines().take(20).collect::<Vec<_>>().join("\n"));
            }
            Some(program) => {
                match program.validate() {
                    Ok(()) => println!("ok {path}"),
                    Err(e) => {
                        bad += 1;
                        println!("INVALID {path}: {e}")
                    }
                }
                if show {
                    println!("{}", program.to_text());
                }
            }
        }
    }
    println!("{bad} bad");
}
