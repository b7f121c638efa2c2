// SPDX-License-Identifier: Apache-2.0
// Search runs in a worker, which browsers refuse to a page that was opened from a file. There a hidden frame takes
// the worker's place: same script, same messages. The theme looks for the name IFrameWorker.
if (location.protocol === "file:") {
  window.Worker = window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.early = []; // messages that come before the script does
      document.body.appendChild(this.frame);
      const inside = this.frame.contentWindow;
      inside.worker = this;
      inside.source = String(url);
      inside.document.open();
      inside.document.write(`<!doctype html><body><script>
        // To the page: what the script posts. In the frame 'message' comes from the page alone.
        postMessage = (data) => worker.dispatchEvent(new worker.MessageEvent("message", { data }));
        importScripts = (...urls) => urls.reduce((before, url) => before.then(() => new Promise((done) => {
          const script = document.createElement("script");
          script.src = url;
          script.onload = done;
          document.body.appendChild(script);
        })), Promise.resolve());
        importScripts(source).then(() => worker.ready());
      </script></body>`);
      inside.document.close();
    }
    get MessageEvent() {
      return MessageEvent;
    }
    ready() {
      const early = this.early;
      this.early = null;
      early.forEach((data) => this.postMessage(data));
    }
    postMessage(data) {
      if (this.early) this.early.push(data);
      else {
        const inside = this.frame.contentWindow;
        inside.dispatchEvent(new inside.MessageEvent("message", { data }));
      }
    }
    terminate() {
      this.frame.remove();
    }
  };
}
