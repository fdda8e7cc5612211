// What a training run looks like from outside: weights and an optimizer that stay, activations that come and go
// with each step, a prefetcher that fills up, an evaluation now and then that needs much, and a line that leaks,
// unless it is compiled with SOUND. The argument is how many steps; one takes 200 ms.
#include <cstddef>
#include <cstdlib>
#include <deque>
#include <unistd.h>
#include <vector>

typedef unsigned long long ptr;
extern "C" {
int cuMemAlloc_v2(ptr *, size_t);
int cuMemFree_v2(ptr);
int cuMemAllocAsync(ptr *, size_t, void *);
int cuMemFreeAsync(ptr, void *);
}

const size_t MiB = 1 << 20;

namespace train {

struct Tensor {
	ptr at;
	static Tensor make(size_t n)
	{
		Tensor t;
		if (cuMemAllocAsync(&t.at, n, nullptr))
			abort();
		return t;
	}
	void drop() { cuMemFreeAsync(at, nullptr); }
};

struct Model {
	std::vector<ptr> weights;
	explicit Model(int layers)
	{
		for (int i = 0; i < layers; i++) {
			ptr p;
			cuMemAlloc_v2(&p, 96 * MiB);
			weights.push_back(p);
		}
	}
	std::vector<Tensor> forward(size_t batch)
	{
		std::vector<Tensor> acts;
		for (size_t i = 0; i < weights.size(); i++)
			acts.push_back(Tensor::make((8 + i) * MiB + batch));
		return acts;
	}
	void backward(std::vector<Tensor> &acts)
	{
		while (!acts.empty()) {
			acts.back().drop();
			acts.pop_back();
		}
	}
};

struct Adam {
	std::vector<ptr> moments;
	explicit Adam(const Model &m)
	{
		for (size_t i = 0; i < 2 * m.weights.size(); i++) {
			ptr p;
			cuMemAlloc_v2(&p, 96 * MiB);
			moments.push_back(p);
		}
	}
};

struct Prefetcher {
	std::deque<Tensor> ready;
	void fill()
	{
		ready.push_back(Tensor::make(24 * MiB));
		if (ready.size() > 12) {
			ready.front().drop();
			ready.pop_front();
		}
	}
};

struct Metrics {
	std::vector<Tensor> losses;
	void log(int step)
	{
#ifdef SOUND
		while (!losses.empty()) {
			losses.back().drop();
			losses.pop_back();
		}
#endif
		if (step % 2 == 0)
			losses.push_back(Tensor::make(3 * MiB)); // kept with all that it was computed from, for ever
	}
};

void evaluate()
{
	std::vector<Tensor> all;
	for (int i = 0; i < 8; i++)
		all.push_back(Tensor::make(40 * MiB));
	usleep(200000);
	for (Tensor &t : all)
		t.drop();
}

void loop(int steps)
{
	Model model(4);
	Adam adam(model);
	Prefetcher prefetcher;
	Metrics metrics;
	for (int step = 0; step < steps; step++) {
		prefetcher.fill();
		std::vector<Tensor> acts = model.forward(step % 3 * MiB);
		usleep(150000);
		metrics.log(step);
		model.backward(acts);
		if (step % 50 == 49)
			evaluate();
		usleep(50000);
	}
}

}

int main(int argc, char **argv)
{
	train::loop(argc > 1 ? atoi(argv[1]) : 600);
}
