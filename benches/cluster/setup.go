package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
	"time"
)

const (
	admissionAPI = "/apis/admissionregistration.k8s.io/v1/"
	hold         = "proxy.istio.io/config"
)

// variant is one variant to treat new pods; each has its own namespace.
type variant struct {
	name, namespace string
	// active reports whether the variant is in effect, given a pod created in it.
	active func(pod []byte) bool
	// calls returns the number of calls of its webhook, if isCalled is set.
	calls    func() int
	isCalled bool
}

type environment struct {
	api       *apiserver
	variants  []variant
	processes []*process
	noop      *process
	pair      pair
	paths     []string
}

// refuseOthers stops the run if other webhooks would be called for its pods, too.
func (e *environment) refuseOthers() {
	var list struct {
		Items []struct{ Metadata struct{ Name string } }
	}
	check(json.Unmarshal(must(e.api.request("GET", admissionAPI+"mutatingwebhookconfigurations", nil)), &list))
	for _, item := range list.Items {
		log.Fatalf("MutatingWebhookConfiguration %s would be measured, too: delete it", item.Metadata.Name)
	}
}

// setUp creates the namespaces, starts the servers and registers them with the apiserver.
func (e *environment) setUp(o options) {
	e.refuseOthers()
	pair := e.pair
	run := fmt.Sprintf("bench-%x", time.Now().UnixMilli())
	patch := "PATCH=" + `[{"op":"add","path":"/metadata/annotations","value":{}},` +
		`{"op":"add","path":"/metadata/annotations/proxy.istio.io~1config","value":"holdApplicationUntilProxyStarts: true\n"},` +
		`{"op":"add","path":"/metadata/annotations/trainmesh.dev~1applied","value":"mesh.hold"}]`
	e.noop = start(nil, []string{patch}, o.noop, pair.certificate, pair.key)
	e.processes = append(e.processes, e.noop)
	trainmesh := start(nil, nil, o.trainmesh, webhookArguments(pair, o)...)
	e.processes = append(e.processes, trainmesh)

	held := func(pod []byte) bool { return bytes.Contains(pod, []byte(`"`+hold+`":`)) }
	always := func([]byte) bool { return true }
	never := func() int { return 0 }
	// Reviews without a patch leave no trace in the pod.
	reviews := func(outcome string) func() int {
		return func() int { return int(trainmesh.metric("trainmesh_admission_reviews_total", `outcome="`+outcome+`"`)) }
	}
	unchanged, patched := reviews("unchanged"), reviews("patched")
	for _, variant := range []variant{
		{"no webhook", run + "-none", always, never, false},
		{"no-op webhook", run + "-noop", func([]byte) bool { return e.calls("noop") > 0 }, func() int { return e.calls("noop") }, true},
		{"no-op webhook, fixed patch", run + "-patch", held, func() int { return e.calls("patch") }, true},
		{"MutatingAdmissionPolicy", run + "-policy", held, never, false},
		{"trainmesh, no patch", run + "-idle", func([]byte) bool { return unchanged() > 0 }, unchanged, true},
		{"trainmesh", run + "-inject", held, patched, true},
	} {
		labels := object{"bench": variant.namespace}
		if strings.HasSuffix(variant.namespace, "-inject") {
			labels["istio-injection"] = "enabled"
		}
		e.create("/api/v1/namespaces", variant.namespace, object{"apiVersion": "v1", "kind": "Namespace",
			"metadata": object{"name": variant.namespace, "labels": labels}})
		e.api.awaitAccount(variant.namespace)
		e.variants = append(e.variants, variant)
	}
	e.webhook(run+"-noop", e.noop.address+"/noop", pair)
	e.webhook(run+"-patch", e.noop.address+"/patch", pair)
	e.webhook(run+"-idle", trainmesh.address+"/mutate", pair)
	e.webhook(run+"-inject", trainmesh.address+"/mutate", pair)
	e.policy(run + "-policy")
	for _, variant := range e.variants {
		e.await(variant)
	}
}

func (e *environment) create(collection, name string, made object) {
	e.api.create(collection, made)
	e.paths = append(e.paths, collection+"/"+name)
}

// webhook registers a webhook for one namespace, like trainmesh's own configuration.
func (e *environment) webhook(namespace, url string, pair pair) {
	e.create(admissionAPI+"mutatingwebhookconfigurations", namespace, object{
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

func (e *environment) policy(namespace string) {
	absent := `!has(object.metadata.annotations) || !('` + hold + `' in object.metadata.annotations)`
	apply := `Object{metadata: Object.metadata{annotations: {"` + hold +
		`": "holdApplicationUntilProxyStarts: true\n", "trainmesh.dev/applied": "mesh.hold"}}}`
	e.create(admissionAPI+"mutatingadmissionpolicies", namespace, object{
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
	e.create(admissionAPI+"mutatingadmissionpolicybindings", namespace, object{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicyBinding",
		"metadata": object{"name": namespace}, "spec": object{"policyName": namespace},
	})
}

func podsAtCreate() object {
	return object{"apiGroups": []string{""}, "apiVersions": []string{"v1"}, "operations": []string{"CREATE"},
		"resources": []string{"pods"}, "scope": "Namespaced"}
}

// await creates pods until the variant is in effect.
func (e *environment) await(variant variant) {
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		pod := must(e.api.request("POST", pods(variant.namespace)+"?dryRun=All", smallPod()))
		if variant.active(pod) {
			return
		}
		if time.Now().After(end) {
			log.Panicf("%s did not become active: %s", variant.name, pod)
		}
	}
}

// calls returns the number of calls of the no-op webhook at a path.
func (e *environment) calls(path string) (count int) {
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: e.pair.client()}}
	defer client.CloseIdleConnections()
	answer := must(client.Get("https://" + e.noop.address + "/calls/" + path))
	defer answer.Body.Close()
	must(fmt.Sscan(string(must(io.ReadAll(answer.Body))), &count))
	return count
}

// remove deletes the webhook configurations before it stops their servers.
func (e *environment) remove() {
	for _, path := range e.paths {
		if _, err := e.api.request("DELETE", path, nil); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	for _, process := range e.processes {
		process.end()
	}
}

func pods(namespace string) string { return "/api/v1/namespaces/" + namespace + "/pods" }
