//! The integrations by which Kueue manages jobs.

/// Entries of `integrations.frameworks` in Kueue's configuration, by API group and kind (kubernetes-sigs/kueue 0.19,
/// `apis/config/v1beta2`).
const INTEGRATIONS: [(&str, &str, &str); 13] = [
    ("batch", "Job", "batch/job"),
    ("jobset.x-k8s.io", "JobSet", "jobset.x-k8s.io/jobset"),
    ("trainer.kubeflow.org", "TrainJob", "trainer.kubeflow.org/trainjob"),
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet", "leaderworkerset.x-k8s.io/leaderworkerset"),
    ("ray.io", "RayCluster", "ray.io/raycluster"),
    ("ray.io", "RayJob", "ray.io/rayjob"),
    ("kubeflow.org", "MPIJob", "kubeflow.org/mpijob"),
    ("kubeflow.org", "PyTorchJob", "kubeflow.org/pytorchjob"),
    ("kubeflow.org", "TFJob", "kubeflow.org/tfjob"),
    ("kubeflow.org", "XGBoostJob", "kubeflow.org/xgboostjob"),
    ("kubeflow.org", "PaddleJob", "kubeflow.org/paddlejob"),
    ("kubeflow.org", "JAXJob", "kubeflow.org/jaxjob"),
    ("workload.codeflare.dev", "AppWrapper", "workload.codeflare.dev/appwrapper"),
];

/// Returns the integration of Kueue for objects of this kind.
pub(crate) fn kueue_integration(group: &str, kind: &str) -> Option<&'static str> {
    let found = INTEGRATIONS.iter().find(|(known, name, _)| *known == group && *name == kind);
    found.map(|(_, _, integration)| *integration)
}
