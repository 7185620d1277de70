//! A fake apiserver that serves a fixed set of objects.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::{fs, thread};

use serde_json::{Value, json};

/// Serves GET requests for its objects and rejects every other request with 403. An object of kind `Status` is an error
/// response with its `code`; a string is the body itself, such as a log. A path may contain a query; one without a query serves all.
/// A path after another method, such as `POST /path`, serves its requests.
pub struct Apiserver {
    port: u16,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    objects: Mutex<Vec<(&'static str, Value)>>,
    message: Mutex<String>,
    requests: Mutex<Vec<String>>,
    without_date: AtomicBool,
}

impl Apiserver {
    /// Starts the server on a free port; `objects` are paths and their response bodies.
    pub fn start(objects: Vec<(&'static str, Value)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let state = Arc::new(State { objects: Mutex::new(objects), ..State::default() });
        let shared = Arc::clone(&state);
        // The thread exits with the test process.
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&shared);
                thread::spawn(move || shared.serve(stream));
            }
        });
        Self { port, state }
    }

    /// Sets the message of every error response.
    #[must_use]
    pub fn with_message(self, message: &str) -> Self {
        message.clone_into(&mut self.state.message.lock().expect("not poisoned"));
        self
    }

    /// Omits the header `Date` of responses.
    #[must_use]
    pub fn without_date(self) -> Self {
        self.state.without_date.store(true, Ordering::Relaxed);
        self
    }

    /// Replaces the response body of `path`.
    pub fn replace(&self, path: &str, object: Value) {
        let mut objects = self.state.objects.lock().expect("not poisoned");
        objects.iter_mut().find(|(served, _)| *served == path).expect("a served path").1 = object;
    }

    /// Returns the requested paths, in order.
    pub fn requests(&self) -> Vec<String> {
        self.state.requests.lock().expect("not poisoned").clone()
    }

    /// Returns the URL of the server.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Writes a kubeconfig for this server to `folder` and returns its path.
    pub fn kubeconfig(&self, folder: &Path) -> String {
        let path = folder.join("kubeconfig");
        let config = json!({"apiVersion": "v1", "kind": "Config", "current-context": "test",
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
            "clusters": [{"name": "test", "cluster": {"server": self.url()}}],
            "users": [{"name": "test", "user": {}}]});
        fs::write(&path, config.to_string()).expect("write the kubeconfig");
        path.display().to_string()
    }
}

/// Returns the status code of the response with this body.
fn code(object: &Value) -> u16 {
    let code = object["code"].as_u64().filter(|_| object["kind"] == "Status");
    code.and_then(|code| u16::try_from(code).ok()).unwrap_or(200)
}

impl State {
    /// Serves one request. Errors are ignored: the client may have closed the connection.
    fn serve(&self, mut stream: TcpStream) {
        let mut lines = BufReader::new(stream.try_clone().expect("a second handle")).lines().map_while(Result::ok);
        let Some(request) = lines.next() else { return };
        lines.by_ref().take_while(|line| !line.is_empty()).for_each(drop);
        let (method, target) = request.split_once(' ').unwrap_or_default();
        let path = target.split([' ', '?']).next().unwrap_or_default();
        self.requests.lock().expect("not poisoned").push(path.to_owned());
        let objects = self.objects.lock().expect("not poisoned").clone();
        let exact = target.split(' ').next().unwrap_or_default();
        let keys = match method {
            "GET" => [path.to_owned(), exact.to_owned()],
            method => [path, exact].map(|path| format!("{method} {path}")),
        };
        let object = objects.into_iter().find(|(served, _)| keys.iter().any(|key| key == served));
        let (code, body) = object.map_or_else(|| self.forbidden(), |(_, object)| (code(&object), object));
        let body = body.as_str().map_or_else(|| body.to_string(), str::to_owned);
        let without_date = self.without_date.load(Ordering::Relaxed);
        let date = if without_date { "" } else { "date: Sun, 22 Nov 2026 07:00:00 GMT\r\n" };
        let head = format!(
            "HTTP/1.1 {code} X\r\ncontent-type: application/json\r\nconnection: close\r\n{date}content-length: {}\r\n\r\n",
            body.len()
        );
        let _ = stream.write_all(format!("{head}{body}").as_bytes());
    }

    fn forbidden(&self) -> (u16, Value) {
        let message = self.message.lock().expect("not poisoned").clone();
        (
            403,
            json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": "Forbidden", "code": 403,
            "message": message}),
        )
    }
}
