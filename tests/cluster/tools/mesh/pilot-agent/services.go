package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"
)

const account = "/var/run/secrets/kubernetes.io/serviceaccount/"

// destination is an address of a Service: its cluster IP, or a pod of a headless Service.
type destination struct {
	address string
	port    int
}

type listOf[T any] struct{ Items []T }

type service struct {
	Metadata struct{ Name string }
	Spec     struct {
		ClusterIP string
		Ports     []struct {
			Name string
			Port int
		}
	}
}

type endpointSlice struct {
	Metadata  struct{ Labels map[string]string }
	Endpoints []struct {
		Addresses []string
		TargetRef struct{ Name string }
	}
	Ports []struct {
		Name string
		Port int
	}
}

type labeledPod struct {
	Metadata struct {
		Name   string
		Labels map[string]string
	}
}

// mutualDestinations returns the destinations to which this proxy opens mTLS connections: those whose endpoints have the
// label security.istio.io/tlsMode=istio. Like every other property of the mesh, it is read once, at start.
func mutualDestinations() ([]destination, error) {
	token, err := os.ReadFile(account + "token")
	if err != nil {
		return nil, err
	}
	namespace, err := os.ReadFile(account + "namespace")
	if err != nil {
		return nil, err
	}
	authority, err := os.ReadFile(account + "ca.crt")
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(authority) {
		return nil, errors.New("ca.crt contains no certificate")
	}
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	get := func(path string, target any) error {
		address := fmt.Sprintf("https://%s:%s%s", os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT"), path)
		request, err := http.NewRequest(http.MethodGet, address, nil)
		if err != nil {
			return err
		}
		request.Header.Set("Authorization", "Bearer "+string(token))
		answer, err := client.Do(request)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: %s", path, answer.Status)
		}
		return json.NewDecoder(answer.Body).Decode(target)
	}
	var services listOf[service]
	var slices listOf[endpointSlice]
	var pods listOf[labeledPod]
	if err := errors.Join(
		get("/api/v1/namespaces/"+string(namespace)+"/services", &services),
		get("/apis/discovery.k8s.io/v1/namespaces/"+string(namespace)+"/endpointslices", &slices),
		get("/api/v1/namespaces/"+string(namespace)+"/pods", &pods),
	); err != nil {
		return nil, err
	}
	modes := map[string]string{}
	for _, pod := range pods.Items {
		modes[pod.Metadata.Name] = pod.Metadata.Labels["security.istio.io/tlsMode"]
	}
	return mutual(services.Items, slices.Items, modes), nil
}

// mutual returns the destinations of Services whose endpoints all have the mode "istio", by the names of their pods.
func mutual(services []service, slices []endpointSlice, modes map[string]string) []destination {
	var result []destination
	for _, service := range services {
		for _, slice := range slices {
			if slice.Metadata.Labels["kubernetes.io/service-name"] != service.Metadata.Name {
				continue
			}
			isMutual := len(slice.Endpoints) > 0
			for _, endpoint := range slice.Endpoints {
				isMutual = isMutual && modes[endpoint.TargetRef.Name] == "istio"
			}
			if !isMutual {
				continue
			}
			if service.Spec.ClusterIP != "None" {
				for _, port := range service.Spec.Ports {
					result = append(result, destination{service.Spec.ClusterIP, port.Port})
				}
				continue
			}
			for _, endpoint := range slice.Endpoints {
				for _, port := range slice.Ports {
					result = append(result, destination{endpoint.Addresses[0], port.Port})
				}
			}
		}
	}
	return result
}
