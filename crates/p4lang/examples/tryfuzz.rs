//! try
use std::panic;
fn main() {
    let files: Vec<String> = std::env::args().skip(1).collect();
    let texts: Vec<String> = files.iter().map(|f| std::fs::read_to_string(f).unwrap()).collect();
    let mut seed: u64 = std::env::var("SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(1);
    let mut rnd = move |n: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed % n as u64) as usize
    };
    let start = std::time::Instant::now();
    let (mut n, mut ok, mut invalid, mut unsup) = (0, 0, 0, 0);
    panic::set_hook(Box::new(|_| {}));
    let tok = |t: &str| -> Vec<String> {
        let mut v = Vec::new();
        let mut cur = String::new();
        for c in t.chars() {
            if c.is_alphanumeric() || c == '_' {
                cur.push(c)
            } else {
                if !cur.is_empty() {
                    v.push(std::mem::take(&mut cur));
                }
                v.push(c.to_string());
            }
        }
        if !cur.is_empty() {
            v.push(cur);
        }
        v
    };
    while start.elapsed().as_secs() < 30 {
        let t = &texts[rnd(texts.len())];
        let mut v = tok(t);
        for _ in 0..1 {
            let idx: Vec<usize> = (0..v.len()).filter(|i| !v[*i].trim().is_empty()).collect();
            let (a, b) = (idx[rnd(idx.len())], idx[rnd(idx.len())]);
            match rnd(4) {
                0 => {
                    v[a] = v[b].clone();
                }
                1 => {
                    v.swap(a, b);
                }
                2 => {
                    v[a] = [
                        "0", "1", "255", "h", "_", "...", "{}", "8w3", "-1", "true", "int",
                        "bit<8>", "{#}",
                    ][rnd(13)]
                    .to_string();
                }
                _ => {
                    let (x, y) = (a.min(b), a.min(b) + rnd(8));
                    if y < v.len() {
                        let s: Vec<String> = v[x..y].to_vec();
                        let at = idx[rnd(idx.len())];
                        for (k, w) in s.into_iter().enumerate() {
                            v.insert(at + k, w);
                        }
                    }
                }
            }
        }
        let src = v.concat();
        n += 1;
        let r = panic::catch_unwind(|| {
            p4lang::with_large_stack(|| {
                let c = p4lang::compile_text(
                    "f.p4",
                    &src,
                    &Default::default(),
                    &p4lang::preprocess::MemoryFiles::default(),
                );
                (
                    c.program.as_ref().map(|p| p.validate().map_err(|e| format!("{e}"))),
                    c.messages(p4lang::diagnostic::Style::Plain),
                )
            })
            .unwrap()
        });
        match r {
            Err(e) => {
                println!(
                    "PANIC {}",
                    e.downcast_ref::<String>()
                        .cloned()
                        .or(e.downcast_ref::<&str>().map(|s| s.to_string()))
                        .unwrap_or_default()
                );
                std::fs::write(format!("/tmp/p4/panic{n}.p4"), &src).unwrap();
            }
            Ok((Some(Ok(())), _)) => ok += 1,
            Ok((Some(Err(e)), _)) => {
                invalid += 1;
                println!("INVALID {e}");
                std::fs::write(format!("/tmp/p4/invalid{n}.p4"), &src).unwrap();
            }
            Ok((None, m)) => {
                if m.contains("error[unsupported]") {
                    unsup += 1;
                    println!(
                        "UNSUP {}",
                        m.lines().filter(|l| l.contains("unsupported")).next().unwrap()
                    );
                    std::fs::write(format!("/tmp/p4/unsup{n}.p4"), &src).unwrap();
                }
            }
        }
    }
    println!("{n} runs {ok} ok {invalid} invalid {unsup} unsupported");
}
