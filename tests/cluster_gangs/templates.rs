//! Jobs and templates of their pods.

use serde_json::{Value, json};

use crate::fixture::{CAPACITY, Fixture};

/// Exit code of a container that was killed.
const KILLED: u32 = 137;

impl Fixture {
    /// Returns an indexed Job.
    pub fn job(&self, name: &str, pods: u32) -> Value {
        self.job_with_exit_code(name, pods, 0)
    }

    /// Returns an indexed Job whose pods exit with this code.
    pub fn job_with_exit_code(&self, name: &str, pods: u32, code: u8) -> Value {
        json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": {
            "completionMode": "Indexed", "completions": pods, "parallelism": pods,
            // The first exit code fails the job, but a deleted pod, which is killed, is replaced.
            "podFailurePolicy": {"rules": [
                {"action": "FailJob", "onExitCodes": {"operator": "NotIn", "values": [0, KILLED]}},
            ]},
            "template": self.template_with_exit_code(name, "train", code),
        }})
    }

    /// Returns the template of a job's pods.
    pub fn template(&self, job: &str, container: &str) -> Value {
        self.template_with_exit_code(job, container, 0)
    }

    fn template_with_exit_code(&self, job: &str, container: &str, code: u8) -> Value {
        let script = format!(
            "until [ -e /completed/{job} ] || [ -e /completed/{job}-$JOB_COMPLETION_INDEX ]; do sleep 0.1; done; exit {code}"
        );
        let container = json!({
            "name": container, "image": "trainmesh.test/busybox:1", "imagePullPolicy": "Never",
            "command": ["sh", "-c", script], "resources": {"limits": {CAPACITY: 1}},
            "volumeMounts": [{"name": "completed", "mountPath": "/completed"}],
        });
        let path = self.completed.path().to_str().expect("the path is UTF-8");
        let mut template = json!({"spec": {
            "restartPolicy": "Never", "terminationGracePeriodSeconds": 0, "containers": [container],
            "volumes": [{"name": "completed", "hostPath": {"path": path, "type": "Directory"}}],
        }});
        if let Some(scheduler) = self.selected {
            template["spec"]["schedulerName"] = scheduler.into();
        }
        if let Some((key, queue)) = self.scheduler.queue() {
            template["metadata"] = json!({"labels": {key: queue}});
        }
        template
    }
}
