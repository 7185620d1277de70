// Command istio-sidecar-injector is a test webhook that matches Istio's in every respect that
// affects a webhook before or after it: the fields of the pod that it reads, what it renders,
// and what it rejects.
//
//	istio-sidecar-injector --listen 127.0.0.1:PORT --tls-cert FILE --tls-key FILE [--image NAME:TAG] [--native]
//	istio-sidecar-injector register --url https://… --ca FILE [--name NAME]
//
// register prints the MutatingWebhookConfiguration for kubectl apply.
package main

import (
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"time"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "register" {
		register(os.Args[2:])
		return
	}
	listen := flag.String("listen", "127.0.0.1:15017", "address of the TLS server")
	cert := flag.String("tls-cert", "", "certificate file")
	key := flag.String("tls-key", "", "key file")
	image := flag.String("image", "trainmesh.test/istio-proxy:1", "image of the proxy")
	native := flag.Bool("native", false, "pods without the annotation sidecar.istio.io/nativeSidecar get a native sidecar")
	flag.Parse()
	certificate, privateKey, err := meshCertificate()
	if err != nil {
		log.Fatal(err)
	}
	config := injector{image: *image, native: *native, certificate: certificate, key: privateKey}
	handler := http.NewServeMux()
	handler.HandleFunc("/inject", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(io.LimitReader(r.Body, 16<<20))
		var review map[string]any
		if err == nil {
			err = json.Unmarshal(body, &review)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(answer(review, config))
	})
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	log.Printf("listening on %s", listener.Addr())
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	log.Fatal(server.ServeTLS(listener, *cert, *key))
}

// answer returns the response to a review. Like Istio, it denies a pod that cannot be injected,
// with the reason as the message.
func answer(review map[string]any, config injector) object {
	request := child(review, "request")
	pod := child(request, "object")
	response := object{"uid": request["uid"], "allowed": true}
	changed, err := config.inject(pod, text(request, "namespace"))
	switch {
	case err != nil:
		log.Printf("%s/%s refused: %v", text(request, "namespace"), podName(pod), err)
		response["allowed"] = false
		response["status"] = object{"message": err.Error()}
	case changed:
		log.Printf("%s/%s injected", text(request, "namespace"), podName(pod))
		patch, err := json.Marshal([]object{
			{"op": "replace", "path": "/metadata", "value": pod["metadata"]},
			{"op": "replace", "path": "/spec", "value": pod["spec"]},
		})
		if err != nil {
			log.Fatal(err) // decoded JSON always encodes
		}
		response["patchType"] = "JSONPatch"
		response["patch"] = base64.StdEncoding.EncodeToString(patch)
	}
	return object{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
}

// register prints the two webhooks of Istio's default installation: one selects by the
// namespace's label, one by the pod's label elsewhere.
func register(args []string) {
	flags := flag.NewFlagSet("register", flag.ExitOnError)
	url := flags.String("url", "", "address of the webhook, such as https://127.0.0.1:15017/inject")
	ca := flags.String("ca", "", "file with the CA certificate")
	name := flags.String("name", "istio-sidecar-injector", "name of the configuration: the apiserver calls in name order")
	flags.Parse(args)
	bundle, err := os.ReadFile(*ca)
	if err != nil {
		log.Fatal(err)
	}
	expression := func(key, operator string, values ...string) object {
		result := object{"key": key, "operator": operator}
		if len(values) > 0 {
			result["values"] = values
		}
		return result
	}
	webhook := func(name string, namespaces, pods []object) object {
		return object{
			"name":                    name,
			"clientConfig":            object{"url": *url, "caBundle": base64.StdEncoding.EncodeToString(bundle)},
			"rules":                   []object{{"operations": []string{"CREATE"}, "apiGroups": []string{""}, "apiVersions": []string{"v1"}, "resources": []string{"pods"}}},
			"namespaceSelector":       object{"matchExpressions": namespaces},
			"objectSelector":          object{"matchExpressions": pods},
			"failurePolicy":           "Fail",
			"reinvocationPolicy":      "Never",
			"sideEffects":             "None",
			"admissionReviewVersions": []string{"v1"},
		}
	}
	output, err := json.MarshalIndent(object{
		"apiVersion": "admissionregistration.k8s.io/v1",
		"kind":       "MutatingWebhookConfiguration",
		"metadata":   object{"name": *name, "labels": object{"app": "sidecar-injector", "istio.io/rev": "default"}},
		"webhooks": []object{
			webhook("namespace.sidecar-injector.istio.io",
				[]object{expression("istio-injection", "In", "enabled")},
				[]object{expression("sidecar.istio.io/inject", "NotIn", "false")}),
			webhook("object.sidecar-injector.istio.io",
				[]object{expression("istio-injection", "DoesNotExist"), expression("istio.io/rev", "DoesNotExist")},
				[]object{expression("sidecar.istio.io/inject", "In", "true"), expression("istio.io/rev", "DoesNotExist")}),
		},
	}, "", "  ")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(output))
}
