# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# The recipe workflow as a person would do it with kubectl, to measure ourselves against: the same reads, applies, waits and
# smoke test on the happy path, its polls a parameter.
#   bash shell_workflow.sh KUBECONFIG CONTEXT NAMESPACE RECIPE_FOLDER MODEL POLL_SECONDS WORK_FOLDER
set -euo pipefail
export KUBECONFIG=$1
context=$2 namespace=$3 recipe=$4 model=$5 poll=$6 work=$7
k() { "${KUBECTL:-kubectl}" --context "$context" "$@"; }

applied=$work/applied_manifests
mkdir -p "$applied" "$work/smoke"
for name in deploy model-cache model-download model-validate; do
    cp "$recipe/$name.yaml" "$applied/$name.yaml"
done

# Reads before anything is changed.
k get namespace "$namespace" >/dev/null
case "$(k get crd 2>&1 || true)" in
    *Forbidden*) echo "may not list resource types" ;;
    *dynamographdeployment*) ;;
    *) echo "no resource type for the deployment"; exit 1 ;;
esac
k get storageclass >/dev/null || echo "may not list storage classes"
k get nodes -o wide >/dev/null || echo "may not list nodes"
k apply --dry-run=server -n "$namespace" -f "$applied/deploy.yaml" >/dev/null

name_of() { k create --dry-run=client -o jsonpath='{.metadata.name}' -f "$1"; }

run_job() {
    local file=$1 tries=$2 name state=""
    name=$(name_of "$file")
    k apply -n "$namespace" -f "$file" >/dev/null
    for _ in $(seq 1 "$tries"); do
        state=$(k get "job/$name" -n "$namespace" -o jsonpath='{.status.conditions[?(@.status=="True")].type}')
        case "$state" in
            *Failed*) echo "$name failed"; return 1 ;;
            *Complete*) return 0 ;;
        esac
        sleep "$poll"
    done
    echo "$name took too long"
    return 1
}

k apply -n "$namespace" -f "$applied/model-cache.yaml" >/dev/null
run_job "$applied/model-download.yaml" 200
run_job "$applied/model-validate.yaml" 120

deployment=$(name_of "$applied/deploy.yaml")
k apply -n "$namespace" -f "$applied/deploy.yaml" >/dev/null
k get dynamographdeployment -n "$namespace" >/dev/null
k get pods -n "$namespace" -o wide >/dev/null
k get svc -n "$namespace" >/dev/null

# Ready: the deployment says so, and no pod of it is anything but running and ready.
ready=0
for _ in $(seq 1 240); do
    state=$(k get dynamographdeployment "$deployment" -n "$namespace" -o jsonpath='{.status.state}')
    pods=$(k get pods -n "$namespace" -l "nvidia.com/dynamo-graph-deployment-name=$deployment" \
        -o jsonpath='{range .items[*]}{.status.conditions[?(@.type=="Ready")].status}{"\n"}{end}')
    if [ "$state" = successful ] && [ -n "$pods" ] && ! grep -qv True <<<"$pods"; then
        ready=1
        break
    fi
    sleep "$poll"
done
[ "$ready" = 1 ] || { echo "$deployment is not ready"; exit 1; }
service=$(k get svc -n "$namespace" -o name | grep -i frontend | head -n 1)

# A free port, since another run may hold 8000.
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
k port-forward "$service" "$port:8000" -n "$namespace" >"$work/port-forward.log" 2>&1 &
forward=$!
trap 'kill "$forward" 2>/dev/null || true' EXIT
url=http://127.0.0.1:$port
reachable=0
for _ in $(seq 1 30); do
    code=$(curl -s -o /dev/null -w '%{http_code}' "$url/v1/models" || true)
    [ "$code" -ge 100 ] && { reachable=1; break; }
    sleep "$((poll < 2 ? poll : 2))"
done
[ "$reachable" = 1 ] || { echo "no answer through the port-forward"; exit 1; }

listed=0
for _ in $(seq 1 30); do
    code=$(curl -sS -o "$work/smoke/models.json" -w '%{http_code}' "$url/v1/models" || true)
    if [ "$code" = 200 ] && jq -e --arg model "$model" 'any(.data[]?; .id == $model)' "$work/smoke/models.json" >/dev/null; then
        listed=1
        break
    fi
    sleep "$((poll < 10 ? poll : 10))"
done
[ "$listed" = 1 ] || { echo "the model is not listed"; exit 1; }

body=$(jq -nc --arg model "$model" '{model: $model, max_tokens: 100, temperature: 0,
    messages: [{role: "user", content: "Simply output the phrase: NVIDIA Dynamo"}]}')
code=$(curl -sS -o "$work/smoke/answer.json" -w '%{http_code}' "$url/v1/chat/completions" \
    -H 'Content-Type: application/json' -d "$body")
[ "$code" = 200 ] || { echo "the model answered with $code"; exit 1; }
jq -e '.object == "chat.completion" and (.choices | length > 0) and (.error | not)' "$work/smoke/answer.json" >/dev/null
echo "served"
