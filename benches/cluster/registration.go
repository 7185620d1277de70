package main

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
	"time"
)

const (
	registrations = "/apis/admissionregistration.k8s.io/v1/"
	hold          = "proxy.istio.io/config"
)

// way is one way in which a new pod is treated; each has its own namespace.
type way struct {
	name, namespace string
	// in says whether the way is in force, from the pod that it made.
	in func(pod []byte) bool
	// calls tells how often its webhook was called, if one isCalled.
	calls    func() int
	isCalled bool
}

type world struct {
	api       *apiserver
	ways      []way
	processes []*process
	noop      *process
	pair      pair
	paths     []string
}

// register makes the namespaces, starts the servers and has the apiserver ask them.
func (w *world) register(o options) {
	pair := w.pair
	run := fmt.Sprintf("bench-%x", time.Now().UnixMilli())
	patch := "PATCH=" + `[{"op":"add","path":"/metadata/annotations","value":{}},` +
		`{"op":"add","path":"/metadata/annotations/proxy.istio.io~1config","value":"holdApplicationUntilProxyStarts: true\n"},` +
		`{"op":"add","path":"/metadata/annotations/trainmesh.dev~1applied","value":"mesh.hold"}]`
	w.noop = start(nil, []string{patch}, o.noop, pair.certificate, pair.key)
	w.processes = append(w.processes, w.noop)
	trainmesh := start(nil, nil, o.trainmesh, webhookArguments(pair, o)...)
	w.processes = append(w.processes, trainmesh)

	held := func(pod []byte) bool { return bytes.Contains(pod, []byte(`"`+hold+`":`)) }
	always := func([]byte) bool { return true }
	never := func() int { return 0 }
	// What was answered without a patch shows in no pod.
	reviews := func(outcome string) func() int {
		return func() int { return int(trainmesh.metric("trainmesh_admission_reviews_total", `outcome="`+outcome+`"`)) }
	}
	unchanged, patched := reviews("unchanged"), reviews("patched")
	for _, way := range []way{
		{"no webhook", run + "-none", always, never, false},
		{"no-op webhook", run + "-noop", func([]byte) bool { return w.calls("noop") > 0 }, func() int { return w.calls("noop") }, true},
		{"no-op webhook, fixed patch", run + "-patch", held, func() int { return w.calls("patch") }, true},
		{"MutatingAdmissionPolicy", run + "-policy", held, never, false},
		{"trainmesh, nothing to do", run + "-idle", func([]byte) bool { return unchanged() > 0 }, unchanged, true},
		{"trainmesh", run + "-inject", held, patched, true},
	} {
		labels := object{"bench": way.namespace}
		if strings.HasSuffix(way.namespace, "-inject") {
			labels["istio-injection"] = "enabled"
		}
		w.create("/api/v1/namespaces", way.namespace, object{"apiVersion": "v1", "kind": "Namespace",
			"metadata": object{"name": way.namespace, "labels": labels}})
		w.api.awaitAccount(way.namespace)
		w.ways = append(w.ways, way)
	}
	w.webhook(run+"-noop", w.noop.address+"/noop", pair)
	w.webhook(run+"-patch", w.noop.address+"/patch", pair)
	w.webhook(run+"-idle", trainmesh.address+"/mutate", pair)
	w.webhook(run+"-inject", trainmesh.address+"/mutate", pair)
	w.policy(run + "-policy")
	for _, way := range w.ways {
		w.await(way)
	}
}

func (w *world) create(collection, name string, made object) {
	w.api.create(collection, made)
	w.paths = append(w.paths, collection+"/"+name)
}

// webhook registers as trainmesh's own registration does, for one namespace.
func (w *world) webhook(namespace, url string, pair pair) {
	w.create(registrations+"mutatingwebhookconfigurations", namespace, object{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
		"metadata": object{"name": namespace},
		"webhooks": []object{{
			"name": "bench.trainmesh.test", "clientConfig": object{"url": "https://" + url, "caBundle": pair.pem},
			"namespaceSelector": object{"matchLabels": object{"bench": namespace}}, "rules": []object{podsAtCreate()},
			"admissionReviewVersions": []string{"v1"}, "failurePolicy": "Fail", "matchPolicy": "Equivalent",
			"reinvocationPolicy": "IfNeeded", "sideEffects": "None", "timeoutSeconds": 5,
		}},
	})
}

func (w *world) policy(namespace string) {
	absent := `!has(object.metadata.annotations) || !('` + hold + `' in object.metadata.annotations)`
	apply := `Object{metadata: Object.metadata{annotations: {"` + hold +
		`": "holdApplicationUntilProxyStarts: true\n", "trainmesh.dev/applied": "mesh.hold"}}}`
	w.create(registrations+"mutatingadmissionpolicies", namespace, object{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicy",
		"metadata": object{"name": namespace},
		"spec": object{
			"matchConstraints": object{"namespaceSelector": object{"matchLabels": object{"bench": namespace}},
				"resourceRules": []object{podsAtCreate()}},
			"matchConditions": []object{{"name": "absent", "expression": absent}},
			"failurePolicy":   "Fail", "reinvocationPolicy": "IfNeeded",
			"mutations": []object{{"patchType": "ApplyConfiguration", "applyConfiguration": object{"expression": apply}}},
		},
	})
	w.create(registrations+"mutatingadmissionpolicybindings", namespace, object{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicyBinding",
		"metadata": object{"name": namespace}, "spec": object{"policyName": namespace},
	})
}

func podsAtCreate() object {
	return object{"apiGroups": []string{""}, "apiVersions": []string{"v1"}, "operations": []string{"CREATE"},
		"resources": []string{"pods"}, "scope": "Namespaced"}
}

// await creates pods for show until the way is in force.
func (w *world) await(way way) {
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		pod := must(w.api.ask("POST", pods(way.namespace)+"?dryRun=All", smallPod()))
		if way.in(pod) {
			return
		}
		if time.Now().After(end) {
			log.Panicf("%s is not in force: %s", way.name, pod)
		}
	}
}

// calls tells how often the webhook that does nothing was called at a path.
func (w *world) calls(path string) (count int) {
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: w.pair.client()}}
	defer client.CloseIdleConnections()
	answer := must(client.Get("https://" + w.noop.address + "/calls/" + path))
	defer answer.Body.Close()
	must(fmt.Sscan(string(must(io.ReadAll(answer.Body))), &count))
	return count
}

// remove undoes registrations before it ends the servers that they name.
func (w *world) remove() {
	for _, path := range w.paths {
		if _, err := w.api.ask("DELETE", path, nil); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	for _, process := range w.processes {
		process.end()
	}
}

func pods(namespace string) string { return "/api/v1/namespaces/" + namespace + "/pods" }
