package main

import (
	"encoding/json"
	"fmt"
)

// smallPod returns an unscheduled training pod as its operator creates it, about 3 KB.
func smallPod() []byte {
	return must(json.Marshal(mainContainer(26)))
}

// injectedPod returns a pod after sidecar injection, about 17 KB.
func injectedPod() []byte {
	return must(json.Marshal(injected(120)))
}

// injected returns a pod with this many variables in its main container, and fewer in its proxy.
func injected(variables int) object {
	pod := mainContainer(variables)
	metadata, spec := pod["metadata"].(object), pod["spec"].(object)
	metadata["annotations"] = object{
		"proxy.istio.io/config":   "holdApplicationUntilProxyStarts: true\nconcurrency: 2\n",
		"sidecar.istio.io/status": `{"initContainers":["istio-init"],"containers":["istio-proxy"],"revision":"default"}`,
	}
	proxy := container("istio-proxy", variables*7/12)
	proxy["lifecycle"] = object{"postStart": object{"exec": object{"command": []string{"pilot-agent", "wait"}}}}
	spec["containers"] = append([]object{proxy}, spec["containers"].([]object)...)
	return pod
}

// review returns a review of a pod, as the apiserver sends it.
func review(namespace string, pod []byte) []byte {
	pods := object{"group": "", "version": "v1", "resource": "pods"}
	kind := object{"group": "", "version": "v1", "kind": "Pod"}
	return must(json.Marshal(object{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": object{
		"uid": "705ab4f5-6393-11e8-b7cc-42010a800002", "kind": kind, "resource": pods, "requestKind": kind,
		"requestResource": pods, "namespace": namespace, "operation": "CREATE",
		"userInfo": object{"username": "system:serviceaccount:kubeflow:training-operator", "groups": []string{"system:authenticated"}},
		"object":   json.RawMessage(pod), "oldObject": nil, "dryRun": false,
		"options": object{"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
	}}))
}

func mainContainer(variables int) object {
	return object{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": object{"generateName": "llama-worker-", "labels": object{
			"training.kubeflow.org/job-name": "llama", "training.kubeflow.org/replica-type": "worker",
			"training.kubeflow.org/replica-index": "0", "training.kubeflow.org/operator-name": "pytorchjob-controller",
		}},
		"spec": object{
			"restartPolicy": "Never", "schedulerName": "nobody", "containers": []object{container("pytorch", variables)},
			"volumes": []object{{"name": "data", "emptyDir": object{}}, {"name": "shm", "emptyDir": object{"medium": "Memory"}}},
		},
	}
}

func container(name string, variables int) object {
	var env []object
	for number := range variables {
		env = append(env, object{"name": fmt.Sprintf("SETTING_NUMBER_%d", number), "value": "a value of ordinary length, as they are"})
	}
	return object{
		"name": name, "image": "images.test/" + name + ":1.0", "args": []string{"--epochs", "10", "--batch-size", "64"}, "env": env,
		"resources":    object{"limits": object{"nvidia.com/gpu": "8", "memory": "512Gi"}, "requests": object{"cpu": "32", "memory": "512Gi"}},
		"volumeMounts": []object{{"name": "data", "mountPath": "/data"}, {"name": "shm", "mountPath": "/dev/shm"}},
	}
}
