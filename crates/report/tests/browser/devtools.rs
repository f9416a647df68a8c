//! A browser without a screen that shows one page at a time, driven by the DevTools protocol over a
//! pipe. It is started once for a test process, because a start takes longer than all checks of a
//! page, and ends with the process, because its pipe is closed then.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

use serde_json::{Value, json};

/// The settings with which a page is shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View {
    /// The width of the window, in CSS pixels.
    pub(crate) width: u32,
    pub(crate) medium: Medium,
    pub(crate) scheme: Scheme,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Medium {
    Screen,
    Print,
}

/// The colours that the reader prefers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Scheme {
    Light,
    Dark,
}

/// A page as the browser shows it.
pub(crate) struct Shown {
    /// The messages on its console.
    pub(crate) console: Vec<String>,
    /// The result of the script.
    pub(crate) found: Value,
}

/// Returns a page as the browser at this path shows it, and the result of a script that ran in it.
pub(crate) fn show(browser: &Path, page: &Path, view: View, script: &str) -> Shown {
    static RUNNING: OnceLock<Mutex<Browser>> = OnceLock::new();
    let running = RUNNING.get_or_init(|| Mutex::new(Browser::start(browser)));
    // A check that failed leaves nothing behind that the next page would see.
    running.lock().unwrap_or_else(PoisonError::into_inner).show(page, view, script)
}

struct Browser {
    /// Ends after this process, whose end closes its pipe.
    _shell: Child,
    commands: ChildStdin,
    messages: BufReader<ChildStdout>,
    /// The number of the last command.
    last: u64,
    /// The messages about the page that is shown, which answer no command.
    events: Vec<Value>,
}

impl Browser {
    fn start(program: &Path) -> Self {
        let profile: PathBuf = tempfile::tempdir().expect("a temporary directory").keep();
        // The browser reads commands from descriptor 3 and writes messages to descriptor 4. When
        // they are closed, it ends, and the shell removes its profile.
        let script = r#""$@" 3<&0 4>&1 </dev/null >/dev/null 2>&1; rm -rf "$PROFILE""#;
        let mut shell = Command::new("sh")
            .args(["-c", script, "sh"])
            .arg(program)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"])
            .args(["--disable-background-networking", "--disable-component-update"])
            .args(["--disable-dev-shm-usage", "--remote-debugging-pipe"])
            .arg(format!("--user-data-dir={}", profile.display()))
            .env("PROFILE", &profile)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the browser runs");
        let commands = shell.stdin.take().expect("a pipe");
        let messages = BufReader::new(shell.stdout.take().expect("a pipe"));
        Self { _shell: shell, commands, messages, last: 0, events: Vec::new() }
    }

    fn show(&mut self, page: &Path, view: View, script: &str) -> Shown {
        self.events.clear();
        let target = self.call(None, "Target.createTarget", json!({ "url": "about:blank" }));
        let target = target["targetId"].clone();
        let attach = json!({ "targetId": target, "flatten": true });
        let session = self.call(None, "Target.attachToTarget", attach);
        let session = session["sessionId"].as_str().map(str::to_owned);
        let session = session.as_deref();
        for domain in ["Page", "Runtime", "Log"] {
            self.call(session, &format!("{domain}.enable"), json!({}));
        }
        let size =
            json!({ "width": view.width, "height": 2000, "deviceScaleFactor": 1, "mobile": false });
        self.call(session, "Emulation.setDeviceMetricsOverride", size);
        let medium = match view.medium {
            Medium::Screen => "screen",
            Medium::Print => "print",
        };
        let scheme = match view.scheme {
            Scheme::Light => "light",
            Scheme::Dark => "dark",
        };
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        let media = json!({ "media": medium, "features": features });
        self.call(session, "Emulation.setEmulatedMedia", media);
        let url = format!("file://{}", page.display());
        let begun = self.call(session, "Page.navigate", json!({ "url": url }));
        assert!(begun["errorText"].is_null(), "{url}: {begun}");
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let event = self.receive();
            self.events.push(event);
        }
        let evaluate = json!({ "expression": script, "returnByValue": true });
        let result = self.call(session, "Runtime.evaluate", evaluate);
        assert!(result["exceptionDetails"].is_null(), "the script failed: {result}");
        self.call(None, "Target.closeTarget", json!({ "targetId": target }));
        let console = self.events.iter().filter_map(console_text).collect();
        Shown { console, found: result["result"]["value"].clone() }
    }

    /// Sends a command to the browser or to a session with a page, and returns its result.
    fn call(&mut self, session: Option<&str>, method: &str, parameters: Value) -> Value {
        self.last += 1;
        let mut command = json!({ "id": self.last, "method": method, "params": parameters });
        if let Some(session) = session {
            command["sessionId"] = session.into();
        }
        let mut bytes = command.to_string().into_bytes();
        bytes.push(0);
        self.commands.write_all(&bytes).expect("the browser reads commands");
        loop {
            let message = self.receive();
            if message["id"] == self.last {
                assert!(message["error"].is_null(), "{method}: {message}");
                return message["result"].clone();
            }
            self.events.push(message);
        }
    }

    fn receive(&mut self) -> Value {
        let mut bytes = Vec::new();
        self.messages.read_until(0, &mut bytes).expect("the browser answers");
        assert_eq!(bytes.pop(), Some(0), "the browser has ended");
        serde_json::from_slice(&bytes).expect("JSON")
    }
}

/// Returns the text of a message if it is one on the console of the page.
fn console_text(message: &Value) -> Option<String> {
    match message["method"].as_str()? {
        "Log.entryAdded" | "Runtime.consoleAPICalled" | "Runtime.exceptionThrown" => {
            Some(message["params"].to_string())
        }
        _ => None,
    }
}
