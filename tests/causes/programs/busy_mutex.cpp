/* SPDX-License-Identifier: BSD-2-Clause */
/* busy_mutex.cpp: threads compute under one std::mutex. */
#include <cstdio>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

static std::mutex lock;
static std::unordered_map<int, int> counts;

__attribute__((noinline)) void count(int key)
{
	std::lock_guard<std::mutex> guard(lock);

	for (int i = 0; i < 200; i++)
		counts[(key + i) % 5000]++;
}

int main()
{
	std::vector<std::thread> threads;

	for (int i = 0; i < 4; i++)
		threads.emplace_back([] {
			for (int j = 0; j < 40000; j++)
				count(j);
		});
	for (auto &thread : threads)
		thread.join();
	std::printf("%zu\n", counts.size());
}
