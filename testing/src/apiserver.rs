//! An apiserver of prepared answers.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::{fs, thread};

use serde_json::{Value, json};

/// Answers GETs of its paths; everything else is forbidden.
pub struct Apiserver {
    port: u16,
    answers: Arc<Answers>,
}

#[derive(Default)]
struct Answers {
    objects: Vec<(&'static str, Value)>,
    message: Mutex<String>,
    requests: Mutex<Vec<String>>,
}

impl Apiserver {
    pub fn start(objects: Vec<(&'static str, Value)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let answers = Arc::new(Answers { objects, ..Answers::default() });
        let served = Arc::clone(&answers);
        // Ends with the test.
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let served = Arc::clone(&served);
                thread::spawn(move || served.serve(stream));
            }
        });
        Self { port, answers }
    }

    /// Sets the message of every error.
    #[must_use]
    pub fn with_message(self, message: &str) -> Self {
        message.clone_into(&mut self.answers.message.lock().expect("not poisoned"));
        self
    }

    /// The paths that were requested.
    pub fn requests(&self) -> Vec<String> {
        self.answers.requests.lock().expect("not poisoned").clone()
    }

    /// Writes a kubeconfig into `folder`, and returns its path.
    pub fn kubeconfig(&self, folder: &Path) -> String {
        let path = folder.join("kubeconfig");
        let config = json!({"apiVersion": "v1", "kind": "Config", "current-context": "test",
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
            "clusters": [{"name": "test", "cluster": {"server": format!("http://127.0.0.1:{}", self.port)}}],
            "users": [{"name": "test", "user": {}}]});
        fs::write(&path, config.to_string()).expect("the folder can be written");
        path.display().to_string()
    }
}

impl Answers {
    /// Answers one request. Whoever hangs up needs no answer.
    fn serve(&self, mut stream: TcpStream) {
        let mut lines = BufReader::new(stream.try_clone().expect("a second handle")).lines().map_while(Result::ok);
        let Some(request) = lines.next() else { return };
        lines.by_ref().take_while(|line| !line.is_empty()).for_each(drop);
        let (method, target) = request.split_once(' ').unwrap_or_default();
        let path = target.split([' ', '?']).next().unwrap_or_default();
        self.requests.lock().expect("not poisoned").push(path.to_owned());
        let object = self.objects.iter().find(|(known, _)| method == "GET" && *known == path);
        let (code, body) = object.map_or_else(|| self.forbidden(), |(_, object)| (200, object.clone()));
        let body = body.to_string();
        let head = format!(
            "HTTP/1.1 {code} X\r\ncontent-type: application/json\r\nconnection: close\r\ndate: Sun, 22 Nov 2026 07:00:00 GMT\r\ncontent-length: {}\r\n\r\n",
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
